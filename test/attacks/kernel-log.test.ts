// A person who runs programs on a node, in a container or not, chooses names that the kernel quotes in its log: of a program (15 characters) of the file that it runs and of a
// control group (255, no slash). None of them may report a fault of the node, which a rule would drain, reboot or replace; and real lines still do, whatever names are in them.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LogMatcher } from '#agent/detect/npd/log-matcher.ts'
import { parseMonitor } from '#api/agent-config/monitor-config.ts'
import { faultyBuses } from '#nodes/named-devices.ts'
import hosts from '../../fleet/machines/hosts.json' with { type: 'json' }
import kernel from '../../template/fleet/kernel-monitor.json' with { type: 'json' }
import { hardwareMonitor } from '../../rules/monitors/hardware.ts'

const monitors = [...hardwareMonitor.monitors, ...hosts.monitors, ...kernel.monitors].map(({ config }) => {
  const { monitor } = parseMonitor(config)
  if (monitor?.kind !== 'Log') throw new Error('it is no log monitor')
  const { rules, bufferSize } = monitor
  const patterns = rules.map((r) => r.pattern)
  return { rules, matcher: new LogMatcher(patterns, bufferSize) }
})

/** The conditions that a line sets. */
const conditionsOf = (line: string): readonly string[] =>
  monitors.flatMap(({ rules, matcher }) => matcher.push(line).flatMap(({ rule }) => rules[rule]?.condition || []))

/** Lines of the kernel as it prints them, with what a user chose: the name of a program, and that of its file or its control group. */
const QUOTES: readonly ((program: string, file: string) => string)[] = [
  (program, file) => `${program}[4711]: segfault at 0 ip 000055d0 sp 00007ffd error 4 in ${file}[55d05a6c1000+1000]`,
  (program, file) =>
    `${program}[4711]: segfault at 0 ip 000055d0 sp 00007ffd error 4 in ${file}[55d05a6c1000+1000] likely on CPU 3 (core 1, socket 0)`,
  (program, file) => `traps: ${program}[4711] general protection fault ip:55d0 sp:7ffd error:0 in ${file}[55d0+1000]`,
  (_, file) => `process '${file}' started with executable stack`,
  (_, group) => `cgroup: fork rejected by pids controller in /user.slice/user-1000.slice/${group}`,
  (program) => `Memory cgroup out of memory: Killed process 7 (${program}) total-vm:1kB, anon-rss:1kB`,
  (program) => `oom_reaper: reaped process 7 (${program}), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB`,
]
const MOST_OF_PROGRAM = 15
const MOST_OF_FILE = 255
const program = (text: string): string => text.replaceAll(/[\n\0]/g, ' ').slice(0, MOST_OF_PROGRAM)
const file = (text: string): string => text.replaceAll(/[\n/\0]/g, ' ').slice(0, MOST_OF_FILE)

/** Each is a line that reports a fault. */
const FAULTS = [
  "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
  'NVRM: Xid (PCI:0000:3b:00): 95, pid=1, name=x, Uncontained',
  'NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.',
  'nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up',
  'amdgpu 0000:c3:00.0: amdgpu: GPU reset(3) failed',
  'EDAC MC0: 1 UE memory read error on DIMM_A1',
  'Memory failure: 0x1d5e3: recovery action for high-order kernel page: Ignored',
  'mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: bea0000000000108',
  'pcieport 0000:00:1c.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0',
  'nvme nvme2: Removing after probe failure status: -19',
  'mlx5_core 0000:5e:00.0: poll_health:739:(pid 0): health compromised',
  'INFO: task containerd:4711 blocked for more than 120 seconds.',
  'EXT4-fs (sda1): Remounting filesystem read-only',
  'Out of memory: Killed process 7 (x) total-vm:1kB',
]

test.each(FAULTS)('names that make up this line report nothing: %s', (fault) => {
  expect(conditionsOf(fault)).not.toEqual([])
  for (const quote of QUOTES)
    for (let end = 0; end <= MOST_OF_PROGRAM; end++)
      for (let from = 0; from < fault.length; from++) {
        const line = quote(program(fault.slice(0, end)), file(fault.slice(from)))
        const found = conditionsOf(line)
        if (found.length > 0) expect([line, found]).toEqual([line, []])
      }
})

test('any names report nothing', () => {
  const word = fc.oneof(fc.constantFrom(...FAULTS, 'NVRM: Xid (PCI:', '): 79, ', 'EDAC MC0: 1 UE ', '; '), fc.string())
  const text = fc.array(word, { maxLength: 5 }).map((words) => words.join(''))
  fc.assert(
    fc.property(fc.constantFrom(...QUOTES), text.map(program), text.map(file), (quote, ofProgram, ofFile) => {
      expect(conditionsOf(quote(ofProgram, ofFile))).toEqual([])
    }),
    { seed: 68, numRuns: 1_000 },
  )
})

test.each(['x, PCI:0000:99:00', '0000:99:00.0: y', '); NVRM: Xid', ' and 0 more', 'x (unknown to y'])(
  'the program that used the GPU names no other one: %s',
  (name) => {
    const line = `NVRM: Xid (PCI:0000:3b:00): 95, pid=7, name=${program(name)}, Uncontained`
    expect(conditionsOf(line)).toEqual(['GPUNeedsReset'])
    expect(faultyBuses(line)).toEqual(['0000:3b'])
  },
)
