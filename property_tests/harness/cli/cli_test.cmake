# cli_test: runs the program with the arguments of each row, and looks at its exit code and what it
# said.
cmake_minimum_required(VERSION 3.25)

# answers(<exit code> <regular expression for all that it said> WORDS...)
function(answers code expression)
  execute_process(COMMAND ${PROGRAM} ${ARGN}
    WORKING_DIRECTORY ${FOLDER}
    TIMEOUT 600
    RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  string(APPEND said "${complained}")
  if(NOT result STREQUAL code)
    message(SEND_ERROR "lastref ${ARGN}: exit ${result}, not ${code}:\n${said}")
  elseif(NOT said MATCHES "${expression}")
    message(SEND_ERROR "lastref ${ARGN}: nothing like ${expression} in:\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

answers(0 "gate.*list.*replay.*sweep" --help)
answers(2 "A subcommand is required")

# The launcher has nothing to build where it lies alone, and nowhere to install from.
set(program ${PROGRAM})
file(MAKE_DIRECTORY ${FOLDER}/alone)
file(COPY ${LAUNCHER} DESTINATION ${FOLDER}/alone)
set(PROGRAM ${FOLDER}/alone/lastref)
answers(0 "any verb of the program.*installs and builds nothing" --help)
answers(0 "any verb of the program" gate --help)
answers(0 "any verb of the program" test -h)
file(COPY ${CHECKOUT}/harness/cli/command_line.cpp ${CHECKOUT}/harness/cli/run_options.cpp
  DESTINATION ${FOLDER}/alone/harness/cli)
answers(2 "there is no verb gaet; there are test fuzz coverage .*gate" gaet)
answers(2 "gate: there is no option --buget" gate --buget=5)
if(EXISTS ${FOLDER}/alone/build)
  message(SEND_ERROR "./lastref --help has begun to build")
endif()
set(PROGRAM ${program})

answers(2 "no verb gaet; did you mean gate" gaet)
answers(2 "gate has no option --buget; did you mean --budget" gate --buget 5)

answers(2 "--filter excludes --quick" bench --quick --filter put)
answers(2 "--json excludes --profile|--profile excludes --json" bench --profile put --json f)

# A program of its own, which trees with sanitizers do not have.
cmake_path(GET PROGRAM PARENT_PATH beside)
if(EXISTS ${beside}/lastref_perf)
  answers(2 "no verb record_all; perf --help lists them" perf record_all)
  answers(0 "Linux [0-9]" perf machine)
  answers(0 "machine +What times" perf --help)
  set(row "\"iterations\":1,\"cpu_time\":1.0,\"real_time\":1.0,\"time_unit\"")
  file(WRITE ${FOLDER}/sizes.json "{\"benchmarks\":[{\"name\":\"drop/10/real_time\",${row}:\"us\"},
    {\"name\":\"drop/1000/real_time\",${row}:\"ms\"}]}")
  answers(0 "drop/real_time: exponent 1.50, of the last step 1.50" perf growth --json sizes.json)
  answers(1 "GROWS drop/real_time: 1.50 is above 1.20" perf growth --json sizes.json --limit 1.2)
  answers(2 "diary" perf growth --json diary)
  answers(2 "profile takes --bench and a name, or -- and a command" perf profile)
  answers(0 "true:\n.*true \\([0-9]+\\)" perf profile -- true)
  answers(2 "the program ended with 1" perf profile -- false)
  answers(2 "no benchmark is called put|lastref_bench" perf profile --bench put)

  # Files: what is slower, the same, and what cannot be told; and how it is asked again.
  foreach(side a b few)
    set(rows)
    foreach(time RANGE 100 115)
      math(EXPR slower "${time} * 3 / 2")
      if(side STREQUAL a)
        set(slower ${time})
      endif()
      if(NOT side STREQUAL few OR time LESS 103)
        list(APPEND rows
          "{\"name\": \"x/1\", \"real_time\": ${slower}, \"cpu_time\": ${slower}}"
          "{\"name\": \"y\", \"real_time\": ${time}, \"cpu_time\": 1${time}}")
      endif()
    endforeach()
    list(JOIN rows "," rows)
    file(WRITE ${FOLDER}/${side}.json "{\"benchmarks\": [${rows}]}")
  endforeach()
  answers(1 "x/1 +slower, beyond 5 %.*y +same within.*again: .* --bench x/1 "
    perf compare a.json b.json)
  answers(0 "x/1 +faster, beyond 5 %" perf compare b.json a.json --json told.json)
  answers(0 "1 the same" perf compare a.json b.json --bench y)
  answers(3 "x/1 +cannot tell.*3 repetitions are too few: it takes 6"
    perf compare a.json few.json --bench "x/*")
  answers(2 "no benchmark matches z or x; .*: 'z/.' or '.z.' may do"
    perf compare a.json b.json --bench z --bench x)
  file(READ ${FOLDER}/told.json told)
  string(JSON verdict GET "${told}" rows 0 verdict)
  if(NOT verdict STREQUAL faster)
    message(SEND_ERROR "perf compare --json: ${told}")
  endif()
  file(WRITE ${FOLDER}/cut.json "{\"benchmarks\": [")
  answers(2 "cut.json: not the JSON of Google Benchmark" perf compare a.json cut.json)
  answers(2 "nowhere is no file, no folder and no git revision" perf compare a.json nowhere)
  answers(2 "compare a file with a file" perf compare a.json ${FOLDER})
  answers(2 "there is no bin/lastref_bench in" perf compare ${FOLDER} ${FOLDER})
  answers(2 "B is required" perf compare a.json)
  answers(2 "0 is not a number of percent" perf compare a.json b.json --tolerance 0)
  answers(2 "is not a chance" perf compare a.json b.json --alpha 2)
  answers(2 "told.d/x.json cannot be written" perf compare a.json b.json --json told.d/x.json)

  # Commands: by a word in them, and by a folder.
  answers(2 "--pairs-max 5 can tell nothing: for 2 rows .* it takes 18"
    perf compare 1 2 --pairs-max 5 -- sh -c "exit {}")
  answers(3 "[AB]: sh ended with exit code [12]" perf compare 1 2 -- sh -c "exit {}")
  answers(3 "[AB]: sleep did not end within 1 s.*--patience 1 --seed"
    perf compare 100 200 --patience 1 -- sleep {})
  answers(1 "wall time +slower, beyond 5 %.*again: .*perf compare 9 3000000 --seed 7 -- seq '{}'"
    perf compare 9 3000000 --seed 7 -- seq {})
  answers(2 "a.json is no folder to run a command in" perf compare a.json . -- true)
  answers(0 "A against A|How often compare is wrong" perf self-test --help)
  answers(2 "nowhere.sqlite cannot be opened" perf history --db nowhere.sqlite)
  answers(2 "record: nothing.json cannot be read" perf record --db h.sqlite --import nothing.json)
  answers(2 "--import" perf record --commit HEAD)
  answers(2 "--repetitions" perf record --repetitions 0)
  answers(2 "GOOD is required" perf bisect)
  answers(2 "does not stand below" perf bisect no where --bench x)
else()
  answers(2 "lastref_perf is not built" perf machine)
endif()

# One row for each kind of answer; the fuzz target command_line has the other bad numbers.
answers(0 "5000 +without --budget" gate --help)
answers(2 "soon is not a number above 0" gate --budget soon)
answers(2 "--seed" gate --seed x)
answers(2 "--worlds" gate --worlds 0)
answers(2 "warden" gate --require warden)
answers(2 "no scenario matches canary/alway; did you mean canary/always_fails"
  gate --scenario canary/alway)
answers(2 "cannot write no/folder.json" gate --world sim --json no/folder.json)
file(WRITE ${FOLDER}/diary "dear diary\n")
answers(2 "is not a file of" gate --world sim --resume diary)

answers(0 "canary/always_fails" list)
answers(0 "ignore: ENOENT · fall back: EACCES EPERM EBUSY EIO\n +a tracker in which" list --points)
answers(0 "T2 +[^\n]+ [1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]*\n" list --rows)
answers(0 "T10 .*T11 .*scenarios +[a-z]+/[a-z_]+\n.*T12 " list --rows T1?)
answers(0 "\"row\": \"T9\"" list --rows T9 --json -)
answers(2 "no row T99" list --rows T99)
answers(2 "cannot write no/folder.json" list --rows --json no/folder.json)
answers(2 "--json requires --rows" list --json -)
answers(2 "list: ${FOLDER}/property_tests" list --rows --checkout ${FOLDER})
answers(2 "excludes" list --rows --points)
answers(0 "link_made_again +a lost connection was made again" list --probes)
answers(2 "excludes" list --probes --points)

answers(0 "T7 +enoent_is_tried_again" mutants --list)
answers(2 "no mutant of row T99" mutants --row T99)
answers(2 "no mutant enoent_is_eror; did you mean enoent_is_an_error" mutants enoent_is_eror)
answers(2 "--by: nobody not in .sim,row,site,tests,full." mutants --by sim,nobody)
answers(0 "T7 +enoent_is_an_error" mutants --list --by sim enoent_is_an_error)
answers(2 "--row excludes --draw" mutants --draw 2 --row T7)
answers(2 "--check excludes --draw" mutants --draw 2 --check)
answers(2 "--budget: 0 is not a number above 0" mutants --budget 0)
answers(2 "no scenario matches row T99" gate --row T99)
answers(2 "--share: Value 0 not in range" gate --share 0)

answers(1 "VIOLATION canary/always_fails.*violations .exit 1." gate --scenario canary/always_fails
  --budget 0.2)
answers(1 "VIOLATION canary/always_fails.*[(]exit 1[)]" gate --scenario canary/always_fails
  --budget 0.2 --first --worlds 1)
answers(0 " in ambients, 3 random" gate --scenario tracker/loky_* --world sim --random 3)

answers(2 "which program" run)
answers(2 "no call .nowhere" run --also nowhere -- true)
answers(0 "call +root/write.*1.*clean" run --also write --list -- echo)
answers(0 "clean .exit 0." run --expect-exit 139 -- sh -c "kill -SEGV $$")
answers(0 "clean .exit 0." run --expect-exit 143 -- sh -c "kill -TERM $$")
answers(1 "LEFT BEHIND.*1 left behind; the program fails by itself, with exit 3 .exit 1." run
  --check "rm ${FOLDER}/left" -- sh -c ": > ${FOLDER}/left\; exit 3")
answers(2 "it ends with none of: fail, shorten" run --fault openat -- true)
answers(2 "/no/such: No such file or directory" run -- /no/such)
answers(2 "the program fails by itself, with exit 3" run -- sh -c "exit 3")
answers(0 "1 processes.*root: exit 0.*clean .exit 0." run --list -- true)
answers(3 "DID NOT STRIKE.*root/openat./nowhere.#1 kill"
  run --fault "root/openat(/nowhere) kill" -- true)
answers(0 "works +seccomp user notification" run --doctor)
answers(2 "excludes" run --doctor -- true)
answers(2 "behind = stand bytes" run --private /tmp=64x -- true)
answers(2 "not an absolute name" run --private tmp -- true)
answers(2 "/no/such: No such file" run --private /no/such -- true)
# What does not fit is not there, and what stays is gone with the folder.
answers(1 "No space left on device.*LEFT BEHIND +/tmp/fits .file., made by root"
  run --private /tmp=64k --
  sh -c "echo x > /tmp/fits && (head -c 200000 /dev/zero > /tmp/x || rm /tmp/x)")
answers(0 "clean .exit 0." run --private /tmp -- sh -c "test ! -e /tmp/fits")
file(MAKE_DIRECTORY ${FOLDER}/base)
file(WRITE ${FOLDER}/base/there "was there")
execute_process(COMMAND ${PROGRAM} run --doctor OUTPUT_VARIABLE doctor)
if(doctor MATCHES "works +an overlay")
  answers(0 "clean .exit 0." run --private ${FOLDER}/base=overlay -- sh -c
    "grep -q was ${FOLDER}/base/there && rm ${FOLDER}/base/there && mkdir ${FOLDER}/base/x &&
    rmdir ${FOLDER}/base/x")
  file(MAKE_DIRECTORY ${FOLDER}/lower/gone)
  file(WRITE ${FOLDER}/lower/kept "kept")
  file(WRITE ${FOLDER}/lower/gone/below "gone")
  file(WRITE ${FOLDER}/lower/d/old "old")
  set(changes "echo >> kept\; rm -r gone\; mkdir made\; : > made/a\; : > d/b\; rm -r d\; mkdir d")
  set(lasts "DOES NOT LAST +${FOLDER}/lower")
  set(removed "${lasts}/d/old, removed\n${lasts}/gone, removed\n")
  set(made "${lasts}/kept, changed\n${lasts}/made, made\n${lasts}/made/a, made\n")
  answers(0 "${removed}${made}[0-9] processes"
    run --allow "*" --private ${FOLDER}/lower=overlay -- sh -c "cd lower\; ${changes}")
  answers(0 "not_lasting.: .[^]]*kept.,\n +.what.: .changed.[^]]*],\n +.not_lasting_more.: 0"
    run --allow "*" --json - --private ${FOLDER}/lower=overlay -- sh -c "cd lower\; ${changes}")
  answers(0 "DOES NOT LAST +... and 3 more\n"
    run --allow "*" --private ${FOLDER}/lower=overlay -- sh -c "cd lower && touch \$(seq 53)")
  # Who is root of a user namespace alone, where he may make one.
  set(PROGRAM setpriv --reuid=65534 --regid=65534 --clear-groups ${program})
  execute_process(COMMAND chown -R 65534:65534 ${FOLDER}/lower RESULT_VARIABLE owned ERROR_QUIET)
  execute_process(COMMAND ${PROGRAM} run --doctor OUTPUT_VARIABLE as_user ERROR_QUIET)
  if(owned EQUAL 0 AND as_user MATCHES "works +an overlay")
    answers(0 "${removed}"
      run --private ${FOLDER}/lower=overlay -- sh -c "cd lower\; rm -r gone\; rm -r d\; mkdir d")
  endif()
  set(PROGRAM ${program})
  # Where its own scratch folder is made, too.
  file(MAKE_DIRECTORY ${FOLDER}/tmp)
  set(ENV{TMPDIR} ${FOLDER}/tmp)
  answers(0 "[0-9] processes[^\n]*\nclean" run --private ${FOLDER}/tmp=overlay -- true)
  unset(ENV{TMPDIR})
  file(GLOB scratch ${FOLDER}/tmp/*)
  if(scratch)
    message(SEND_ERROR "an overlay over its scratch folder leaves ${scratch}")
  endif()
  answers(1 "LEFT BEHIND +${FOLDER}/base/new .*1 left behind" run
    --private ${FOLDER}/base=overlay -- sh -c ": > ${FOLDER}/base/new")
  if(EXISTS ${FOLDER}/base/new OR NOT EXISTS ${FOLDER}/base/there)
    message(SEND_ERROR "an overlay has let a change through")
  endif()
endif()
if(doctor MATCHES "works +a pid namespace")
  answers(0 "clean .exit 0." run --private pid -- sh -c "test $$ = 2 && test -e /proc/2/stat")
endif()
answers(0 "HIDDEN +1 names in ${FOLDER}/base" run --private ${FOLDER}/base -- true)
answers(2 "has no comma" run --private /a,b=overlay -- true)
answers(0 "STRUCK .*closes_folder, at child.1/openat./dev/shm/b.*clean .exit 0." run
  --private /dev/shm --fault "openat(/dev/shm/b) outsider closes_folder" --allow "/dev/shm/a" --
  sh -c ": > /dev/shm/a\; (: > /dev/shm/b)\; (: > /dev/shm/c)\; exit 0")
get_filename_component(programs ${PROGRAM} DIRECTORY)
answers(2 "REFUSED +root .warden_calls, /.*/warden_calls. makes seccomp, .*: EBUSY"
  run -- ${programs}/warden_calls seccomp /)
answers(2 "executable.: ./.*/warden_calls.,.*call.: .seccomp.,.*error.: .EBUSY."
  run --json - -- ${programs}/warden_calls seccomp /)
answers(2 "nobody could see the processes" run --private /proc -- true)
answers(0 "clean .exit 0." run --private ipc -- sh -c "ipcmk -Q && ipcrm -q 0")
answers(1 "LEFT BEHIND +msg:0 .System V., made by child.1/msgget" run --private ipc --
  sh -c "ipcmk -Q && true")
answers(0 "unlink +always +EACCES.*disk: EDQUOT EIO" run --calls)
answers(2 "no fault can be at a call .close.*--calls lists all" run
  --fault "close fail EIO" -- true)
answers(2 "mkdir gives no such error; with --unlikely it does.*EMLINK" run
  --fault "mkdir fail EPIPE" -- true)
answers(3 "DID NOT STRIKE.*mkdir" run --unlikely --fault "mkdir fail EPIPE" -- true)
answers(2 "files=1: none of as, core" run --limit files=1 -- true)
answers(2 "fails by itself, with exit 127" run --limit nofile=3 -- true)
answers(0 "clean .exit 0." run --expect-exit 3 --expect-exit 4 -- sh -c "exit 4")
answers(1 "exit 7, which was not expected" run --fault "mkdir#1 fail ENOSPC" --expect-exit 0 --
  sh -c "mkdir /tmp/lastref_never || exit 7")
answers(1 "CRASHED +root: SIGSEGV" run --fault "mkdir#1 fail ENOSPC" --
  sh -c "mkdir /tmp/lastref_never || kill -SEGV $$")
get_filename_component(bin ${PROGRAM} DIRECTORY)
answers(1 "HANGS +root .thread [0-9]+. in read.pipe.*it hangs .exit 1." run --
  ${bin}/warden_calls rest "own pipe")
answers(1 "it takes too long .exit 1." run --timeout 0.01 -- sh -c "while :\; do :\; done")
answers(1 "clean: [0-9.]+ s.*STRUCK.*it takes too long .exit 1." run --slowdown 2
  --fault "mkdir fail ENOSPC" -- sh -c "mkdir ${FOLDER}/slow && rmdir ${FOLDER}/slow ||
  while :\; do :\; done")
answers(2 "fails by itself, with exit 3" run --slowdown 2 --fault "mkdir kill" -- sh -c "exit 3")
answers(1 "OPEN TO OTHERS ${FOLDER}/open .file., .* made by root/openat.*1 open to others" run --
  sh -c "umask 0\; : > ${FOLDER}/open && rm ${FOLDER}/open")
answers(0 "clean .exit 0." run --open "*/open" -- sh -c
  "umask 0\; : > ${FOLDER}/open && rm ${FOLDER}/open")
answers(0 "STRUCK +rm/unlinkat.*clean .exit 0." run --fault "rm/unlinkat fail EIO" --expect-exit 1
  --
  rm -f ${FOLDER}/nothing)
answers(2 "run: --setup exit 5: exit 5" run --setup "exit 5" -- true)
answers(1 "FAILS +--check 'echo wrong.*exit 1.*wrong.*1 failed .exit 1." run
  --check "echo wrong && false" -- true)
answers(1 "STAYED +child.1 .*1 stayed .exit 1." run --grace 0.01 -- sh -c "sleep 1000 & exit 0")
answers(0 "run 1 of 3: clean.*3 runs" run --repeat 3 -- true)
answers(0 "clean .exit 0." run --setup "rm -f ${FOLDER}/left" --recover "rm ${FOLDER}/left" --
  touch ${FOLDER}/left)
answers(2 "excludes" run --calls -- true)
answers(2 "scenario is required" replay)
answers(2 "no scenario canary/always_fail; did you mean canary/always_fails"
  replay canary/always_fail)
answers(2 "not a fault. One reads" replay canary/always_fails --fault kill)
answers(2 "not a list of answers" replay canary/always_fails --choices 1.x)
answers(2 "--world" replay canary/always_fails --world moon)
answers(1 "VIOLATION canary/always_fails.*reproduce *lastref replay canary/always_fails --world sim"
  replay canary/always_fails --world sim)

answers(2 "no ambient nowhere; there are exec, closed, " replay canary/always_fails
  --ambient nowhere)
answers(2 "no ambient nowhere; there are exec, closed, " gate --ambient nowhere)
answers(2 "--ambient exec needs the kernel world" replay canary/always_fails --ambient exec
  --world sim)
answers(2 "only the kernel world starts processes of a run" process-of-a-run exec)

# A program that lies elsewhere sees no sources.
set(program ${PROGRAM})
set(PROGRAM sh -c "folder=$(mktemp -d) && trap 'rm -r \"$folder\"' EXIT && \
cp \"$0\" \"$folder/lastref\" && \"$folder/lastref\" \"$@\"" ${program})
answers(0 "T2 [^\n]+ [?] +[1-9][0-9]* +[?]\n.*not lie in a checkout: tests and mutants are not seen"
  list --rows)

# The fork server keeps its descriptors from 400 on: here it cannot start.
set(PROGRAM sh -c "ulimit -n 256 && exec \"$0\" \"$@\"" ${program})
answers(2 "the kernel world cannot run here: the fork server does not start"
  gate --scenario canary/always_fails --budget 0.2)
answers(2 "the kernel world cannot run here: the fork server does not start"
  replay canary/always_fails --world=kernel)
set(PROGRAM ${program})

answers(2 "a run has 8 faults at most" explore canary/always_fails --fault a --fault b --fault c
  --fault d --fault e --fault f --fault g --fault h --fault i)
answers(2 "no scenario x" explore x)
answers(2 "--preemptions" explore canary/always_fails --preemptions few)
answers(1 "VIOLATION canary/always_fails" explore canary/always_fails --preemptions 0)

answers(0 "7 runs without gates of 1 scenarios, [0-6] of them with kills" stress
  --scenario tracker/a_holder_is_killed --runs 7 --worlds 1)
answers(1 "VIOLATION canary/always_fails\n[^\n]+no-leak" stress --scenario canary/always_fails
  --runs 1)
answers(2 "no scenario matches x" stress --scenario x)
answers(2 "only .lastref stress. starts processes" process-of-an-ungated-run a b c 0 e f)
answers(3 "left out: storage/a_full_dump_leaves_nothing: it limits storage" stress
  --scenario storage/a_full_dump_leaves_nothing --runs 3)

answers(0 "removed 0 dead trees" sweep --runtime ${FOLDER}/nothing)
set(lost ${FOLDER}/lost/0123456789abcdef0123456789abcdef)
file(WRITE ${lost}/ledger "")
file(CHMOD ${FOLDER}/lost PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
answers(3 "${lost} was left alone: its lock was removed" sweep --runtime ${FOLDER}/lost)
answers(2 "give the folder of its tree, or --loky-fd" tracker)
answers(2 "excludes" tracker x --loky-fd 3)
answers(2 "--loky-fd 1 is no pipe that can be read: " tracker --loky-fd 1)
answers(2 "--loky-fd 77 is no pipe that can be read: " tracker --loky-fd 77)
set(PROGRAM sh -c "exec \"$0\" \"$@\" 3<\"$0\"" ${program})
answers(2 "--loky-fd 3 is no pipe that can be read: .*a file, and no pipe" tracker --loky-fd 3)
set(PROGRAM sh -c "\"$0\" \"$@\" >/dev/full" ${program})
answers(2 "cannot write to standard output all that there was to say" list)
answers(2 "cannot write to standard output all that there was to say" --help)
answers(2 "cannot write to standard output" sweep --runtime ${FOLDER}/nothing)
set(PROGRAM ${program})
answers(2 "--loky-fd" tracker --loky-fd x)
