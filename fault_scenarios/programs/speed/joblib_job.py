"""joblib_job: two workers of joblib sum a mapped array."""
import joblib
import numpy

ARRAY = numpy.arange(200_000.0)

if __name__ == '__main__':
    sums = joblib.Parallel(n_jobs=2, max_nbytes=1000)(
        joblib.delayed(numpy.sum)(ARRAY[start::4]) for start in range(4))
    with open('sum', 'w', encoding='ascii') as file:
        file.write(f'{sum(sums)}\n')
