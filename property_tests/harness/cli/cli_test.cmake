# cli_test: runs the program with the words of each row. Its exit code and the facts in what it says
# are here; the texts are in cli_test.transcript, a section for each row.
cmake_minimum_required(VERSION 3.25)

set(TRANSCRIPT ${CMAKE_CURRENT_LIST_DIR}/cli_test.transcript)
set(ENV{LC_ALL} C)  # Other programs talk, too.
unset(ENV{GITHUB_ACTIONS})
cmake_path(GET PROGRAM PARENT_PATH bin)
set(chapter main)  # The others are of what not all machines and trees can do.

# Runs the program with ${words}, and sets ${said}.
macro(ask)
  execute_process(COMMAND ${PROGRAM} ${words}
    WORKING_DIRECTORY ${FOLDER}
    TIMEOUT 600
    RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  string(APPEND said "${complained}")
  if(NOT result STREQUAL code)
    message(SEND_ERROR "lastref ${words}: exit ${result}, not ${code}:\n${said}")
  elseif(NOT said MATCHES "${expression}")
    message(SEND_ERROR "lastref ${words}: nothing like ${expression} in:\n${said}")
  endif()
endmacro()

# shows(<exit code> <regular expression of facts> WORDS...), where texts differ between machines
function(shows code expression)
  set(words "${ARGN}")
  ask()
  set(said "${said}" PARENT_SCOPE)
endfunction()

# answers(<exit code> <regular expression of facts> WORDS...): the text is expected, too, but for
# what differs between runs.
function(answers code expression)
  set(words "${ARGN}")
  ask()
  set(said "${said}" PARENT_SCOPE)
  string(REGEX REPLACE "([^\\]);" "\\1 " words "${words}")
  string(REPLACE "\\;" ";" words "${words}")
  set(section "== lastref ${words}\n${said}")
  string(REPLACE ${FOLDER} FOLDER section "${section}")
  string(REPLACE ${bin} BIN section "${section}")
  string(REGEX REPLACE "[^\n]* [0-9]+ names in /(tmp|dev/shm),[^\n]*\n" "" section "${section}")
  # In the order of their addresses.
  string(REGEX REPLACE " (Needs|Excludes): [^\n]*" "" section "${section}")
  string(REGEX REPLACE "[0-9]+ calls" "N calls" section "${section}")
  string(REGEX REPLACE "thread [0-9]+" "thread N" section "${section}")
  string(REGEX REPLACE "(read.pipe.), [a-z_0-9]+" "\\1, FUNCTION" section "${section}")
  string(REGEX REPLACE "seed [0-9]+" "seed N" section "${section}")
  string(REGEX REPLACE "time=\"[0-9.]+\"" "time=\"N\"" section "${section}")
  set_property(GLOBAL APPEND_STRING PROPERTY ${chapter} "${section}\n")
endfunction()

# Expects the help of each verb that the last text names, except perf, which has a chapter, as trees
# with sanitizers lack its program.
function(answers_help)
  string(REGEX MATCHALL "\n  [a-z][a-z-]+  " verbs "${said}")
  foreach(verb IN LISTS verbs)
    string(STRIP "${verb}" verb)
    if(verb STREQUAL perf)
      continue()
    endif()
    answers(0 "Usage: lastref .*${verb}" ${ARGN} ${verb} --help)
  endforeach()
endfunction()

# Compares all chapters with the transcript, or writes it. One without answers remains as it is.
function(end_transcript)
  set(expected)
  if(EXISTS ${TRANSCRIPT})
    file(READ ${TRANSCRIPT} expected)
  endif()
  set(observed)
  foreach(chapter main overlay user pid perf)
    get_property(sections GLOBAL PROPERTY ${chapter})
    string(FIND "${expected}" "=== ${chapter}\n" start)
    if(NOT sections AND start GREATER_EQUAL 0)
      string(SUBSTRING "${expected}" ${start} -1 sections)
      string(REGEX REPLACE "\n=== .*" "\n" sections "${sections}")
    else()
      string(PREPEND sections "=== ${chapter}\n")
    endif()
    string(APPEND observed "${sections}")
  endforeach()
  if(observed STREQUAL expected)
    return()
  elseif("$ENV{LASTREF_TRANSCRIPTS}" STREQUAL write)
    file(WRITE ${TRANSCRIPT} "${observed}")
    return()
  endif()
  file(WRITE ${FOLDER}/observed "${observed}")
  execute_process(COMMAND diff -U 1 ${TRANSCRIPT} ${FOLDER}/observed OUTPUT_VARIABLE difference)
  message("${difference}")
  message(SEND_ERROR "To accept the texts: LASTREF_TRANSCRIPTS=write ./lastref test -L transcripts")
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

answers(0 "gate.*list.*replay.*sweep" --help)
answers_help()
answers(2 "")
shows(0 "" gate --help)
set(help "${said}")
shows(0 "" help gate)
if(NOT said STREQUAL help)
  message(SEND_ERROR "help gate: ${said}")
endif()

# The launcher has nothing to build where it lies alone, and nowhere to install from.
set(program ${PROGRAM})
file(MAKE_DIRECTORY ${FOLDER}/alone)
file(COPY ${LAUNCHER} DESTINATION ${FOLDER}/alone)
set(PROGRAM ${FOLDER}/alone/lastref)
answers(0 "lastref test" --help)
set(help "${said}")
shows(0 "" gate --help)
if(NOT said STREQUAL help)
  message(SEND_ERROR "help of a verb: ${said}")
endif()
shows(0 "" help test)
if(NOT said STREQUAL help)
  message(SEND_ERROR "help of a verb of the launcher: ${said}")
endif()
foreach(source command_line option_kinds run_options)
  file(COPY ${CHECKOUT}/harness/cli/${source}.cpp DESTINATION ${FOLDER}/alone/harness/cli)
endforeach()
answers(2 "test fuzz coverage .*gate" gaet)
answers(2 "--buget" gate --junit=f --buget=5)
if(EXISTS ${FOLDER}/alone/build)
  message(SEND_ERROR "./lastref --help has begun to build")
endif()
set(PROGRAM ${program})

answers(2 "gate" gaet)
answers(2 "--budget" gate --buget 5)

answers(2 "--filter .*--quick" bench --quick --filter put)
shows(2 "--profile|--json" bench --profile put --json f)

# A program of its own, which trees with sanitizers do not have.
if(EXISTS ${bin}/lastref_perf)
  set(chapter perf)
  answers(2 "record_all" perf record_all)
  shows(0 "Linux [0-9]" perf machine)
  answers(0 "machine" perf --help)
  answers_help(perf)
  set(row "\"iterations\":1,\"cpu_time\":1.0,\"real_time\":1.0,\"time_unit\"")
  file(WRITE ${FOLDER}/sizes.json "{\"benchmarks\":[{\"name\":\"drop/10/real_time\",${row}:\"us\"},
    {\"name\":\"drop/1000/real_time\",${row}:\"ms\"}]}")
  answers(0 "drop/real_time: [^\n]*1.50.*1.50" perf growth --json sizes.json)
  answers(1 "1.20" perf growth --json sizes.json --limit 1.2)
  answers(2 "diary" perf growth --json diary)
  answers(2 "--bench" perf profile)
  shows(0 "true:\n.*true \\([0-9]+\\)" perf profile -- true)
  shows(2 "1" perf profile -- false)
  shows(2 "put|lastref_bench" perf profile --bench put)

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
  answers(1 "x/1 +slower.*y +same .*lastref perf .* --bench x/1 "
    perf compare a.json b.json --seed 7)
  answers(0 "x/1 +faster" perf compare b.json a.json --json told.json --seed 7)
  answers(0 "y +same" perf compare a.json b.json --bench y --seed 7)
  answers(3 "x/1 +cannot tell.*3 .*6"
    perf compare a.json few.json --bench "x/*" --seed 7)
  answers(2 "z/[*]"
    perf compare a.json b.json --bench z --bench x)
  file(READ ${FOLDER}/told.json told)
  string(JSON verdict GET "${told}" rows 0 verdict)
  if(NOT verdict STREQUAL faster)
    message(SEND_ERROR "perf compare --json: ${told}")
  endif()
  file(WRITE ${FOLDER}/cut.json "{\"benchmarks\": [")
  answers(2 "cut.json" perf compare a.json cut.json)
  answers(2 "nowhere" perf compare a.json nowhere)
  answers(2 "a.json" perf compare a.json ${FOLDER})
  answers(2 "bin/lastref_bench" perf compare ${FOLDER} ${FOLDER})
  answers(2 "" perf compare a.json)
  answers(2 "--tolerance" perf compare a.json b.json --tolerance 0)
  answers(2 "--alpha" perf compare a.json b.json --alpha 2)
  answers(2 "told.d/x.json" perf compare a.json b.json --json told.d/x.json)

  # Commands: by a word in them, and by a folder.
  answers(2 "--pairs-max 5 .*18"
    perf compare 1 2 --pairs-max 5 -- sh -c "exit {}")
  shows(3 "[AB]: sh .* [12]\n" perf compare 1 2 -- sh -c "exit {}")
  shows(3 "[AB]: sleep .* 1 s.*--patience 1 --seed"
    perf compare 100 200 --patience 1 -- sleep {})
  shows(1 "time +slower.*perf compare 9 3000000 --seed 7 -- seq '{}'"
    perf compare 9 3000000 --seed 7 -- seq {})
  answers(2 "a.json" perf compare a.json . -- true)
  answers(2 "nowhere.sqlite" perf history --db nowhere.sqlite)
  answers(2 "nothing.json" perf record --db h.sqlite --import nothing.json)
  answers(2 "--import" perf record --commit HEAD)
  answers(2 "--repetitions" perf record --repetitions 0)
  answers(2 "" perf bisect)
  answers(2 "no .*where" perf bisect no where --bench x)
  set(chapter main)
else()
  shows(2 "lastref_perf" perf machine)
endif()

# One row for each kind of answer; the fuzz target command_line has the other bad numbers.
shows(0 "5000" gate --help)
answers(2 "--budget: soon" gate --budget soon)
answers(2 "--budget: 5d" hunt --budget 5d)
answers(2 "--seed" gate --seed x)
answers(2 "--worlds" gate --worlds 0)
answers(2 "warden" gate --require warden)
answers(2 "canary/always_fails"
  gate --scenario canary/alway)
answers(2 "no/folder.json" gate --world sim --json no/folder.json)
file(WRITE ${FOLDER}/diary "dear diary\n")
answers(2 "diary" gate --world sim --resume diary)
answers(2 "diary is not a file of" hunt --resume diary)
answers(2 "5/4" gate --shard 5/4)
answers(2 "--first" gate --first --output part)
file(MAKE_DIRECTORY ${FOLDER}/full ${FOLDER}/damaged)
file(WRITE ${FOLDER}/full/diary "dear diary\n")
file(WRITE ${FOLDER}/damaged/gate "dear diary\n")
answers(2 "full: it is not empty: it has diary" gate --world sim --output full)
answers(2 "it is not a file of" merge damaged)
answers(2 "full/gate: there is no such file" merge full damaged)
answers(2 "cannot write no/file" hunt --resume no/file)
set(hunted hunt --scenario tracker/two_holders_release_at_once --resume hunted)
file(REMOVE ${FOLDER}/hunted)
shows(0 "\n40 runs " ${hunted} --runs 40)
shows(0 "testcase classname=.tracker.*\n70 runs " ${hunted} --runs 70 --junit -)
shows(2 "hunted is of a hunt with other options" ${hunted} --runs 70 --seed 4)
file(READ ${FOLDER}/hunted state)
string(SUBSTRING "${state}" 0 100 state)
file(WRITE ${FOLDER}/hunted "${state}")
shows(2 "hunted is not a file of .* or was cut" ${hunted})

shows(0 "canary/always_fails" list)
answers(0 "ENOENT .*EACCES EPERM EBUSY EIO\n" list --points)
shows(0 "T2 +[^\n]+ [1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]*\n" list --rows)
shows(0 "T10 .*T11 .*scenarios +[a-z]+/[a-z_]+\n.*T12 " list --rows T1?)
shows(0 "\"row\": \"T9\"" list --rows T9 --json -)
answers(2 "T99" list --rows T99)
answers(2 "no/folder.json" list --rows --json no/folder.json)
answers(2 "--rows" list --json -)
answers(2 "list: ${FOLDER}/property_tests" list --rows --checkout ${FOLDER})
answers(2 "--points" list --rows --points)
answers(0 "link_made_again" list --probes)
answers(0 "kill_before .*fail_in_all .*pause " list --faults)
answers(2 "--probes" list --probes --points)

shows(0 "T7 +enoent_is_tried_again" mutants --list)
answers(2 "T99" mutants --row T99)
answers(2 "enoent_is_an_error" mutants enoent_is_eror)
answers(2 "nobody .*sim,hunt,row,site,tests,full." mutants --by sim,nobody)
answers(0 "T7 +enoent_is_an_error" mutants --list --by sim enoent_is_an_error)
answers(2 "--row .*--draw" mutants --draw 2 --row T7)
answers(2 "--check .*--draw" mutants --draw 2 --check)
answers(2 "--budget: 0" mutants --budget 0)
answers(2 "T99" gate --row T99)
answers(2 "--share" gate --share 0)

shows(1 "VIOLATION canary/always_fails.*violations .exit 1." gate --scenario canary/always_fails
  --budget 0.2)
shows(1 "VIOLATION canary/always_fails.*[(]exit 1[)]" gate --scenario canary/always_fails
  --budget 0.005m --first --worlds 1)
shows(0 "small limits: [0-9]+ sites, [1-9][0-9]* of [0-9]+ faults.*3 random"
  gate --scenario tracker/loky_* --world sim --random 3)

answers(2 "--" run)
answers(2 "nowhere" run --also nowhere -- true)
shows(0 "call +root/write.*1.*exit 0" run --also write --list -- echo)
answers(0 ".exit 0." run --expect-exit 139 -- sh -c "kill -SEGV $$")
answers(0 ".exit 0." run --expect-exit 143 -- sh -c "kill -TERM $$")
answers(1 "exit 3 .exit 1." run
  --check "rm ${FOLDER}/left" -- sh -c ": > ${FOLDER}/left\; exit 3")
answers(2 "openat.*fail_once ERROR" run --fault openat -- true)
answers(2 "kill_before" run --fault "openat kill" -- true)
answers(2 "only in lastref gate" run --fault "openat kill_blocked" -- true)
answers(2 "/no/such" run -- /no/such)
answers(2 "exit 3 .exit 2." run -- sh -c "exit 3")
shows(0 "root: exit 0.*exit 0" run --list -- true)
answers(3 "root/openat./nowhere.#1 kill.*exit 3"
  run --fault "root/openat(/nowhere) kill_before" -- true)
shows(0 "works +seccomp" run --doctor)
answers(2 "--doctor" run --doctor -- true)
answers(2 "/tmp=64x" run --private /tmp=64x -- true)
answers(2 ": tmp" run --private tmp -- true)
answers(2 "/no/such" run --private /no/such -- true)
# What does not fit is not there, and what stays is gone with the folder.
answers(1 "/tmp/fits .file., .*root/openat"
  run --private /tmp=64k --
  sh -c "echo x > /tmp/fits && (head -c 200000 /dev/zero > /tmp/x || rm /tmp/x)")
answers(0 ".exit 0." run --private /tmp -- sh -c "test ! -e /tmp/fits")
file(MAKE_DIRECTORY ${FOLDER}/base)
file(WRITE ${FOLDER}/base/there "was there")
execute_process(COMMAND ${PROGRAM} run --doctor OUTPUT_VARIABLE doctor)
if(doctor MATCHES "works +an overlay")
  set(chapter overlay)
  answers(0 ".exit 0." run --private ${FOLDER}/base=overlay -- sh -c
    "grep -q was ${FOLDER}/base/there && rm ${FOLDER}/base/there && mkdir ${FOLDER}/base/x &&
    rmdir ${FOLDER}/base/x")
  # Its owner and permissions are those of the folder that it hides, where we may set them.
  file(MAKE_DIRECTORY ${FOLDER}/owned)
  execute_process(COMMAND chown 65534:65534 ${FOLDER}/owned ERROR_QUIET)
  execute_process(COMMAND chmod 2750 ${FOLDER}/owned)
  execute_process(COMMAND stat -c "%a %u:%g" ${FOLDER}/owned OUTPUT_VARIABLE owned)
  string(STRIP "${owned}" owned)
  foreach(kind "" "=64k" "=overlay")
    shows(0 "" run --private ${FOLDER}/owned${kind} -- sh -c
      "stat -c '%a %u:%g' owned\; stat -c '%a %u:%g' owned | grep -qx '${owned}'")
  endforeach()
  # Each run has a copy of /tmp, and what a run without faults leaves may remain.
  set(swept "echo x > /tmp/lastref-swept\; rm /tmp/lastref-swept\; touch /tmp/lastref-product")
  shows(1 "in each run.*/tmp/lastref-product\n.*/tmp/lastref-swept [(]file[)].*5 of 5 times"
    run --sweep -- sh -c "${swept}")
  shows(0 "1 point, 10 faults.*0 findings" run --sweep -- touch /tmp/lastref-product)
  shows(0 "1 point, 5 faults of 10.*5 of 5 faults tried"
    run --sweep --shard 2/2 -- touch /tmp/lastref-product)
  # With exit 0 it leaves something else than in a clean run.
  set(swept "echo x > /tmp/lastref-product || true")
  shows(1 "with exit 0.*lastref-product does not exist.*--same '?/tmp/lastref-product=[0-9a-f]+ "
    run --sweep --first -- sh -c "${swept}")
  shows(2 "two runs without faults leave different" run --sweep --same /tmp/lastref-product --
    sh -c "echo $$ > /tmp/lastref-product")
  # Its folder is no copy, so the product of its fifth run and later is another one, as if the time
  # were in it: no fault is the cause.
  file(REMOVE ${FOLDER}-runs)
  set(swept "echo x >> ${FOLDER}-runs\; echo $(($(wc -l < ${FOLDER}-runs) > 4)) >out")
  shows(0 "NOT COMPARED +[^\n]*/out has another content.* 0 findings"
    run --sweep -- sh -c "${swept}")
  # The second run of --list finds what the first one found, so that it makes the same names.
  set(listed "test ! -e out && t=\$(mktemp out.XXXX) && mv \$t out")
  shows(1 "rename[a-z0-9]*[(]${FOLDER}/base/out[.][*][)]#1.*LEFT BEHIND +${FOLDER}/base/out "
    run --list --private ${FOLDER}/base=overlay -- sh -c "cd base && ${listed}")
  file(WRITE ${FOLDER}/suite.toml "
[story.swept]
command = 'echo x > lastref-swept && rm lastref-swept'
[story.quiet]
command = ['touch', '/tmp/lastref-product']
[[known]]
story = 'quiet'
fingerprint = '12345678'
reason = 'issue 12'
")
  shows(1 "VIOLATION swept.*swept +[0-9]+ of.*quiet +10 of 10.*NO LONGER SEEN quiet.*1 new finding"
    run --suite ${FOLDER}/suite.toml)
  # A known finding is known in each checkout.
  set(fingerprints)
  foreach(checkout one two)
    file(MAKE_DIRECTORY ${FOLDER}/${checkout})
    file(COPY ${FOLDER}/suite.toml DESTINATION ${FOLDER}/${checkout})
    shows(1 "fingerprint" run --suite ${FOLDER}/${checkout}/suite.toml --story swept --first)
    string(REGEX MATCH "fingerprint +[0-9a-f]+" fingerprint "${said}")
    list(APPEND fingerprints "${fingerprint}")
  endforeach()
  list(REMOVE_DUPLICATES fingerprints)
  if(NOT fingerprints MATCHES "^[^;]+$")
    message(SEND_ERROR "the folder of a suite changes its fingerprints: ${fingerprints}")
  endif()
  # A known finding is not the first one.
  string(REGEX REPLACE "fingerprint +" "" known "${fingerprints}")
  file(READ ${FOLDER}/suite.toml suite)
  file(WRITE ${FOLDER}/one/suite.toml
    "${suite}[[known]]\nstory = 'swept'\nfingerprint = '${known}'\nreason = 'issue 13'\n")
  shows(0 "swept +[0-9]+ of [0-9]+ faults.*KNOWN +swept ${known}: issue 13.* 0 new findings"
    run --suite ${FOLDER}/one/suite.toml --story swept --first)
  set(ENV{GITHUB_ACTIONS} true)
  set(place "\"uri\": \"suite.toml\".*\"startLine\": 2")
  shows(1 "${place}.*::error file=suite.toml,line=2,title=swept%3A "
    run --suite ${FOLDER}/suite.toml --first --sarif -)
  unset(ENV{GITHUB_ACTIONS})
  shows(0 "1 of 1 stories tried. 0 new" run --suite ${FOLDER}/suite.toml --story "q*")
  answers(2 "none of the suite matches; did you mean quiet"
    run --suite ${FOLDER}/suite.toml --story quite)
  answers(2 "suite: No such file|No such file" run --suite ${FOLDER}/nothing.toml)
  shows(2 "clean without faults" run --sweep -- false)
  if(EXISTS /tmp/lastref-swept OR EXISTS /tmp/lastref-product)
    message(SEND_ERROR "a sweep changes /tmp")
  endif()
  answers(2 "--output|--resume" run --sweep --output a --resume b -- true)
  answers(2 "--seed.*--sample" run --sweep --seed 3 -- true)
  answers(2 "--sample" run --sweep --sample 0 -- true)
  answers(2 "need --sweep or --suite" run --sample 3 -- true)
  answers(125 "--sample" run --bisect --sample 3 -- true)
  answers(2 "${FOLDER}/suite.toml/list|suite.toml" merge ${FOLDER}/suite.toml)
  answers(2 "folders" merge)
  answers(2 "--fault.*--sweep|--sweep.*--fault" run --sweep --fault "openat kill_before" -- true)
  file(MAKE_DIRECTORY ${FOLDER}/lower/gone)
  file(WRITE ${FOLDER}/lower/kept "kept")
  file(WRITE ${FOLDER}/lower/gone/below "gone")
  file(WRITE ${FOLDER}/lower/d/old "old")
  set(changes "echo >> kept\; rm -r gone\; mkdir made\; : > made/a\; : > d/b\; rm -r d\; mkdir d")
  set(lasts "[A-Z ]+${FOLDER}/lower")
  set(removed "${lasts}/d/old, removed\n${lasts}/gone, removed\n")
  set(made "${lasts}/kept, changed\n${lasts}/made, made\n${lasts}/made/a, made\n")
  answers(0 "${removed}${made}[0-9]"
    run --allow "*" --private ${FOLDER}/lower=overlay -- sh -c "cd lower\; ${changes}")
  shows(0 "not_lasting.: .[^]]*kept.,\n +.what.: .changed.[^]]*],\n +.not_lasting_more.: 0"
    run --allow "*" --json - --private ${FOLDER}/lower=overlay -- sh -c "cd lower\; ${changes}")
  answers(0 "[.][.][.] .*3 .*\n"
    run --allow "*" --private ${FOLDER}/lower=overlay -- sh -c "cd lower && touch \$(seq 53)")
  # Who is root of a user namespace alone, where he may make one.
  set(PROGRAM setpriv --reuid=65534 --regid=65534 --clear-groups ${program})
  execute_process(COMMAND chown -R 65534:65534 ${FOLDER}/lower RESULT_VARIABLE owned ERROR_QUIET)
  execute_process(COMMAND ${PROGRAM} run --doctor OUTPUT_VARIABLE as_user ERROR_QUIET)
  if(owned EQUAL 0 AND as_user MATCHES "works +an overlay")
    set(chapter user)
    answers(0 "${removed}"
      run --private ${FOLDER}/lower=overlay -- sh -c "cd lower\; rm -r gone\; rm -r d\; mkdir d")
    set(chapter overlay)
  endif()
  set(PROGRAM ${program})
  # Where its own scratch folder is made, too.
  file(MAKE_DIRECTORY ${FOLDER}/tmp)
  set(ENV{TMPDIR} ${FOLDER}/tmp)
  answers(0 "[0-9] process[^\n]*\nclean" run --private ${FOLDER}/tmp=overlay -- true)
  unset(ENV{TMPDIR})
  file(GLOB scratch ${FOLDER}/tmp/*)
  if(scratch)
    message(SEND_ERROR "an overlay over its scratch folder leaves ${scratch}")
  endif()
  answers(1 "${FOLDER}/base/new .*exit 1" run
    --private ${FOLDER}/base=overlay -- sh -c ": > ${FOLDER}/base/new")
  if(EXISTS ${FOLDER}/base/new OR NOT EXISTS ${FOLDER}/base/there)
    message(SEND_ERROR "an overlay has let a change through")
  endif()
  set(chapter main)
endif()
if(doctor MATCHES "works +a pid namespace")
  # Where there is no shell, no /dev and no program but these two
  execute_process(COMMAND sh -ec [[
    for file in "$0" "${0%/*}/warden_calls" \
      $({ ldd "$0" || true; ldd "${0%/*}/warden_calls"; } 2>/dev/null | grep -o "/[^ ]*"); do
      mkdir -p "bare${file%/*}"; cp -L "$file" "bare$file"
    done
    mkdir bare/proc bare/tmp; test $(id -u) = 0 || user=-r
    unshare -mpf $user sh -ec 'mount -t proc proc bare/proc; chroot bare "$0" run --doctor
      chroot bare "$0" run --sweep --sample 3 -- "${0%/*}/warden_calls" openat /tmp' "$0"
    rm -r bare
    ]] ${PROGRAM}
    WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT result EQUAL 0 OR said MATCHES "LOST" OR NOT said MATCHES "3 of 3 faults tried")
    message(SEND_ERROR "not in a bare chroot: ${result} ${said}")
  endif()
  set(chapter pid)
  answers(0 ".exit 0." run --private pid -- sh -c "test $$ = 2 && test -e /proc/2/stat")
  set(chapter main)
endif()
answers(0 "1 .*${FOLDER}/base" run --private ${FOLDER}/base -- true)
answers(2 "/a,b" run --private /a,b=overlay -- true)
answers(0 "outsider_chmod_parent, at child.1/openat./dev/shm/b.*.exit 0." run
  --private /dev/shm --fault "openat(/dev/shm/b) outsider_chmod_parent" --allow "/dev/shm/a" --
  sh -c ": > /dev/shm/a\; (: > /dev/shm/b)\; (: > /dev/shm/c)\; exit 0")
get_filename_component(programs ${PROGRAM} DIRECTORY)
answers(2 "root .*warden_calls.*seccomp.*EBUSY"
  run -- ${programs}/warden_calls seccomp /)
shows(2 "executable.: ./.*/warden_calls.,.*call.: .seccomp.,.*error.: .EBUSY."
  run --json - -- ${programs}/warden_calls seccomp /)
answers(0 "NOT SEEN.*not all was seen" run -- ${programs}/warden_calls unshare /)
shows(3 "not all was seen .exit 3" run --strict -- ${programs}/warden_calls unshare /)
shows(0 "clean .exit 0" run --strict -- true)
if(doctor MATCHES "works +an overlay")
  # Signals interrupt its calls. Each try has the folder as it was: the setup succeeds again.
  file(MAKE_DIRECTORY ${FOLDER}/rings)
  foreach(run RANGE 1 5)
    execute_process(
      COMMAND ${PROGRAM} run --setup "mkdir ${FOLDER}/rings/data" --private ${FOLDER}/rings=overlay
              -- ${programs}/warden_calls "unlink while a clock rings" ${FOLDER}/rings
      RESULT_VARIABLE code ERROR_VARIABLE said)
    if(NOT code MATCHES "^[03]$")
      message(SEND_ERROR "another try of a run ends with exit ${code}: ${said}")
    endif()
  endforeach()
endif()
answers(2 "/proc" run --private /proc -- true)
answers(0 ".exit 0." run --private ipc -- sh -c "ipcmk -Q && ipcrm -q 0")
answers(1 "msg:0 .*child.1/msgget" run --private ipc --
  sh -c "ipcmk -Q && true")
answers(1 "failures=.1.*no-leak.*msg:0 .*child.1/msgget" run --private ipc --junit - --
  sh -c "ipcmk -Q && true")
shows(1 "violations.: .*claim.: .no-leak.*msg:0 .*violations_total.: 1" run --private ipc --json -
  -- sh -c "ipcmk -Q && true")
answers(0 "unlink +always +EACCES.*disk: EDQUOT EIO" run --calls)
answers(2 "close.*--calls" run
  --fault "close fail_once EIO" -- true)
answers(2 "--unlikely.*EMLINK" run
  --fault "mkdir fail_once EPIPE" -- true)
answers(3 "mkdir.*exit 3" run --unlikely --fault "mkdir fail_once EPIPE" -- true)
answers(2 "files=1.*as, core" run --limit files=1 -- true)
answers(2 "exit 127 .exit 2." run --limit nofile=3 -- true)
# A limit that is a fault explains why the program fails.
answers(0 "nofile=3, during the whole run.*exit 127 .exit 0." run --fault "limit nofile=3" -- true)
answers(0 "exit 9 .exit 0." run --fault "private /dev/shm=4k" --
  sh -c "head -c 9000 /dev/zero > /dev/shm/a || s=9\; rm /dev/shm/a\; exit $s")
answers(2 "files=1.*as, core" run --fault "limit files=1" -- true)
answers(2 "without a size" run --fault "private /dev/shm" -- true)
answers(2 "--costs.*--shard" run --sweep --costs /tmp -- true)
answers(0 ".exit 0." run --expect-exit 3 --expect-exit 4 -- sh -c "exit 4")
answers(1 "exit 7.*exit 1" run --fault "mkdir#1 fail_once ENOSPC" --expect-exit 0 --
  sh -c "mkdir /tmp/lastref_never || exit 7")
answers(1 "root: SIGSEGV" run --fault "mkdir#1 fail_once ENOSPC" --
  sh -c "mkdir /tmp/lastref_never || kill -SEGV $$")
get_filename_component(bin ${PROGRAM} DIRECTORY)
answers(1 "root .*read.pipe.*exit 1" run --
  ${bin}/warden_calls rest "own pipe")
answers(1 "exit 1" run --timeout 0.5 -- sh -c "while :\; do :\; done")
shows(1 "AT THE HANG +echo [^\n]*\nseen [0-9]+ [0-9]+\nexit 3"
  run --timeout 0.5 --on-hang "echo seen $LASTREF_PIDS\; exit 3" --
  sh -c "(while :\; do :\; done)\; true")
# Each run reads the same file from where we began.
file(WRITE ${FOLDER}/input "first\nsecond\n")
execute_process(
  COMMAND sh -c "read first; exec \"$0\" run --repeat 3 -- grep -qx second" ${PROGRAM}
  INPUT_FILE ${FOLDER}/input RESULT_VARIABLE result ERROR_VARIABLE said)
if(NOT result EQUAL 0 OR NOT said MATCHES "3 runs")
  message(SEND_ERROR "not each run has its input: ${said}")
endif()
# The same for a pipe, even for one that does not end. A single run leaves the rest of it to others.
execute_process(COMMAND sh -ec [[
  seq 99999 | (read first; "$0" run --repeat 3 -- sh -c 'test $(wc -l) = 99998')
  mkfifo endless; exec 3<>endless; rm endless; echo line >&3
  "$0" run --list -- sh -c 'read one; test $one = line' <&3
  "$0" run --repeat 2 -- true <&-
  printf '1\n2\n' | ("$0" run -- sh -c 'read one'; read two; test $two = 2)
  ]] ${PROGRAM} RESULT_VARIABLE result ERROR_VARIABLE said)
if(NOT result EQUAL 0 OR said MATCHES "differs")
  message(SEND_ERROR "not each run has its input from a pipe: ${said}")
endif()
shows(1 "[0-9.]+ s\n.*exit 1" run --slowdown 2
  --fault "mkdir fail_once ENOSPC" -- sh -c "mkdir ${FOLDER}/slow && rmdir ${FOLDER}/slow ||
  while :\; do :\; done")
answers(2 "exit 3 .exit 2." run --slowdown 2 --fault "mkdir kill_before" -- sh -c "exit 3")
answers(1 "${FOLDER}/open .file., .*root/openat.*exit 1" run --
  sh -c "umask 0\; : > ${FOLDER}/open && rm ${FOLDER}/open")
answers(0 ".exit 0." run --open "*/open" -- sh -c
  "umask 0\; : > ${FOLDER}/open && rm ${FOLDER}/open")
answers(0 "rm/unlinkat.*.exit 0." run --fault "rm/unlinkat fail_once EIO" --expect-exit 1
  --
  rm -f ${FOLDER}/nothing)
answers(2 "--setup .*exit 5" run --setup "exit 5" -- true)
answers(1 "--check 'echo wrong.*exit 1.*wrong.*exit 1" run
  --check "echo wrong && false" -- true)
answers(1 "child.1 .*exit 1" run --grace 0.01 --
  sh -c "while :\; do :\; done & exit 0")
answers(0 "1 of 3.*3 runs" run --repeat 3 -- true)
answers(0 ".exit 0." run --setup "rm -f ${FOLDER}/left" --recover "rm ${FOLDER}/left" --
  touch ${FOLDER}/left)
answers(2 "--calls" run --calls -- true)
answers(2 "" replay)
answers(2 "canary/always_fails"
  replay canary/always_fail)
answers(2 "--fault kill.*fail_once EACCES" replay canary/always_fails --fault kill)
answers(2 "only in lastref run" replay canary/always_fails --fault "root/unlink(a)#1 stop")
answers(2 "--choices 1.x" replay canary/always_fails --choices 1.x)
answers(2 "--world" replay canary/always_fails --world moon)
answers(1 "VIOLATION canary/always_fails.*reproduce *lastref replay canary/always_fails --world sim"
  replay canary/always_fails --world sim)

# The timeline of a run: what happened, on standard output and in a page
shows(1 "> FINDING canary.*after the run: FINDING no-leak.*VIOLATION canary/always_fails"
  replay canary/always_fails --world sim --timeline)
shows(0 "[1-9] switch.*raced for.*paused before.*runs.*clean" replay
  tracker/two_holders_release_at_once --world sim --seed 5 --timeline)
shows(1 "<table>.*no-leak.*VIOLATION canary/always_fails" replay canary/always_fails --world sim
  --html -)
shows(0 "0 switches.*clean" replay tracker/holder_is_killed --timeline)
shows(0 "clean" replay tracker/holder_is_killed --world sim --html page.html)
file(READ ${FOLDER}/page.html page)
if(NOT page MATCHES "<th class=\"actor\" scope=\"col\">tracker</th>")
  message(SEND_ERROR "replay --html: ${page}")
endif()
answers(2 "no/folder.html" replay canary/always_fails --world sim --html no/folder.html)

# What cannot be decided, as git bisect run expects it
answers(125 "canary/always_fails" replay canary/always_fail --bisect)
answers(125 "no option --polices" replay canary/always_fails --polices pct --bisect)
answers(125 "canary/always_fails" gate --bisect --scenario canary/always_fail)
answers(125 "does not apply" replay tracker/holder_is_killed --world sim --bisect
  --fault "tracker/unlink(nothing)#1 fail_once EACCES")
shows(1 "VIOLATION" replay canary/always_fails --world sim --bisect)
shows(125 "NOT INJECTED" run --bisect --fault "mkdir fail_once ENOSPC" -- true)

answers(2 "nowhere; .*exec, closed, " replay canary/always_fails
  --ambient nowhere)
answers(2 "nowhere; .*exec, closed, " gate --ambient nowhere)
answers(2 "--ambient exec .*kernel" replay canary/always_fails --ambient exec
  --world sim)
answers(2 "" process-of-a-run exec)

# A program that lies elsewhere sees no sources.
set(program ${PROGRAM})
set(PROGRAM sh -c "folder=$(mktemp -d) && trap 'rm -r \"$folder\"' EXIT && \
cp \"$0\" \"$folder/lastref\" && \"$folder/lastref\" \"$@\"" ${program})
shows(0 "T2 [^\n]+ [?] +[1-9][0-9]* +[?]\n.*checkout"
  list --rows)

# The fork server keeps its descriptors from 400 on: here it cannot start.
set(PROGRAM sh -c "ulimit -n 256 && exec \"$0\" \"$@\"" ${program})
shows(2 "kernel"
  gate --scenario canary/always_fails --budget 0.2)
shows(2 "kernel"
  replay canary/always_fails --world=kernel)
set(PROGRAM ${program})

answers(2 "8 " explore canary/always_fails --fault a --fault b --fault c
  --fault d --fault e --fault f --fault g --fault h --fault i)
answers(2 "canary/always_fails" explore canary/always_fail)

# Parameters of scenarios.
set(scenario tracker/two_holders_release_at_once)
answers(2 "slots=1: no such parameter.*clients, names" replay ${scenario} --set slots=1)
answers(2 "clients=4: out of range.*1, 2, 3" explore ${scenario} --set clients=4)
answers(2 "NAME=VALUE" replay ${scenario} --set clients)
answers(2 "already" replay ${scenario} --set clients=1 --set clients=3)
answers(2 "no such.*there are: limits" stress --scenario canary/always_fails --set clients=1)
answers(2 "no scenario has all" gate --world sim --set clients=1 --set slots=5)
shows(0 "clean" replay ${scenario} --set clients=3 --set names=9 --world sim)
answers(2 "--preemptions" explore canary/always_fails --preemptions few)
answers(1 "VIOLATION canary/always_fails" explore canary/always_fails --preemptions 0)
answers(1 "VIOLATION canary/always_fails" explore canary/always_fails --deviations --all)
answers(2 "--deviations" explore ${scenario} --deviations --policy pct)
answers(2 "nope" explore ${scenario} --policy nope)
answers(2 "--policy" explore ${scenario} --seed 3)
answers(2 "--split-deaths" explore ${scenario} --split-deaths --worlds both)
shows(0 "41 orders.*pct, surw" explore ${scenario} --policy pct --policy surw --runs 41)
shows(0 "covered: .*0 orders have different verdicts\n21 orders" explore ${scenario}
  --policy pos --runs 21 --worlds both)
shows(1 "reproduce +lastref replay canary/always_fails\n" explore canary/always_fails
  --deviations --worlds kernel)

shows(0 "7 runs .*1 scenarios, [0-6] .*kills" stress
  --scenario tracker/holder_is_killed --runs 7 --worlds 1)
shows(1 "VIOLATION canary/always_fails\n[^\n]+no-leak" stress --scenario canary/always_fails
  --runs 1)
answers(2 " x" stress --scenario x)
answers(2 "kernel world" process-of-a-run exec canary/always_fails)
answers(3 "storage/later_dump_hits_full_shared_memory" stress
  --scenario storage/later_dump_hits_full_shared_memory --runs 3)

answers(0 "removed 0 " sweep --runtime ${FOLDER}/nothing)
set(lost ${FOLDER}/lost/0123456789abcdef0123456789abcdef)
file(WRITE ${lost}/ledger "")
file(CHMOD ${FOLDER}/lost PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
answers(3 "${lost}" sweep --runtime ${FOLDER}/lost)
answers(2 "--loky-fd" tracker)
answers(2 "--loky-fd" tracker x --loky-fd 3)
answers(2 "--loky-fd 1 " tracker --loky-fd 1)
answers(2 "--loky-fd 77 " tracker --loky-fd 77)
set(PROGRAM sh -c "exec \"$0\" \"$@\" 3<\"$0\"" ${program})
answers(2 "--loky-fd 3 " tracker --loky-fd 3)
set(PROGRAM sh -c "\"$0\" \"$@\" >/dev/full" ${program})
answers(2 "" list)
answers(2 "" --help)
answers(2 "" sweep --runtime ${FOLDER}/nothing)
set(PROGRAM ${program})
answers(2 "--loky-fd" tracker --loky-fd x)

end_transcript()
