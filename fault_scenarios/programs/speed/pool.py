"""pool: two workers of multiprocessing.Pool write the squares of numbers."""
import multiprocessing


def square(number):
    return number * number


if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool:
        squares = pool.map(square, range(8))
    with open('squares', 'w', encoding='ascii') as file:
        file.write(f'{squares}\n')
