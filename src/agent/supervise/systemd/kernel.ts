// What the kernel and the journal tell about the processes of systemd's units, beside systemd itself.
import { readFileSync } from 'node:fs'
import { outputOf } from '../../detect/npd/service-state.ts'
import { readStat, type ProcessId } from '../proc.ts'
import { ProcessStates } from '../process-states.ts'

export interface Kernel {
  /** Undefined: it has exited. */
  process(pid: number): ProcessId | undefined
  /** Undefined when it cannot be read. */
  arguments(pid: number): readonly string[] | undefined
  /** Empty when it cannot be read. */
  bootId(): string
  /** R, S, D, T …; undefined: systemd must be asked, because the process has exited or only systemd knows. */
  state(id: ProcessId): string | undefined
  /** The processes that are still asked for. */
  keepOnly(ids: readonly ProcessId[]): void
  /** What a unit's processes printed last; undefined when it cannot be read. */
  output(unit: string): Promise<string | undefined>
}

const JOURNAL_LINES = 10
/** A slow journal must not delay a revert. */
export const JOURNAL_MS = 2_000

/** Only the unit's own output: systemd's lines about it repeat its state. */
export const journalArguments = (unit: string): readonly string[] => [
  '--quiet',
  '--no-pager',
  '--output=cat',
  `--lines=${JOURNAL_LINES}`,
  `_SYSTEMD_UNIT=${unit}`,
]

/** `proc` differs from /proc for processes of a container. */
export function kernelHere(proc = '/proc'): Kernel {
  const states = new ProcessStates(proc)
  return {
    process: (pid) => readStat(pid, proc),
    arguments(pid) {
      try {
        return readFileSync(`${proc}/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
      } catch {
        return undefined
      }
    },
    bootId() {
      try {
        return readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8').trim()
      } catch {
        return ''
      }
    },
    state: (id) => states.state(id),
    keepOnly: (ids) => states.keepOnly(ids),
    output: (unit) => outputOf('journalctl', journalArguments(unit), { timeoutMs: JOURNAL_MS }),
  }
}
