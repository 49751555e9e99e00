import { expect, test } from 'vitest'
import { endOfProcess, endOfUnit } from './process-end.ts'
import { parseShow } from './systemd/systemctl.ts'

test.each([
  ['killed', null, 'SIGKILL', 'ended by SIGKILL', false],
  ['told to end', null, 'SIGTERM', 'ended by SIGTERM', false],
  ['told to end, and caught it', 143, null, 'exited with code 143', false],
  ['a shell whose child was killed', 137, null, 'exited with code 137', false],
  ['ended in order', 0, null, 'exited with code 0', false],
  ['started by an agent that is gone', null, null, 'ended while the agent was not running', false],
  ['exited with an error', 1, null, 'exited with code 1', true],
  ['touched memory that is not its own', null, 'SIGSEGV', 'ended by SIGSEGV', true],
  ['gave up', null, 'SIGABRT', 'ended by SIGABRT', true],
  ['a broken mapping', null, 'SIGBUS', 'ended by SIGBUS', true],
  ['a bad instruction', null, 'SIGILL', 'ended by SIGILL', true],
  ['a reload signal that it does not know', null, 'SIGHUP', 'ended by SIGHUP', true],
] as const)('a process: %s', (_what, code, signal, how, isEvidence) => {
  expect(endOfProcess(code, signal)).toEqual({ how, isEvidence })
})

/** In the format of `systemctl show`. */
const shown = (result: string, status: number, memoryMax = 'infinity') =>
  parseShow(`Id=a.service\nResult=${result}\nExecMainStatus=${status}\nMemoryMax=${memoryMax}\n`, ['a.service'])

test.each([
  ['killed', shown('signal', 9), 'ended by SIGKILL', false],
  ['told to end', shown('signal', 15), 'ended by SIGTERM', false],
  ['gave up without a core dump', shown('signal', 6), 'ended by SIGABRT', true],
  ['a core dump', shown('core-dump', 11), 'ended by SIGSEGV with a core dump', true],
  ['exited with an error', shown('exit-code', 3), 'exited with code 3', true],
  ['exited as one that was told to end', shown('exit-code', 143), 'exited with code 143', false],
  ['used more memory than it may', shown('oom-kill', 9, '1048576'), 'killed at its memory limit', true],
  ['killed for the memory of the node', shown('oom-kill', 9), 'killed because the node ran out of memory', false],
  [
    'killed for the memory of the node, as older systemd says it',
    shown('oom-kill', 9, '18446744073709551615'),
    'killed because the node ran out of memory',
    false,
  ],
  ['told to end, which is in order to systemd', shown('success', 15), 'ended by SIGTERM', false],
  ['ended, and systemd started it again', shown('success', 0), 'ended', false],
  ['did not notify in time', shown('watchdog', 6), 'failed (systemd: watchdog)', true],
] as const)('a unit: %s', (_what, [state], how, isEvidence) => {
  expect(state && endOfUnit(state)).toEqual({ how, isEvidence })
})
