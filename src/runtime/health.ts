// Named checks of whether this process should be restarted (alive) and whether it has what it needs to work (ready).
import { messageOf } from '#lib/errors.ts'

/** What is wrong; undefined if all is well. */
export type Check = () => string | undefined

export interface HealthReport {
  readonly ok: boolean
  readonly checks: readonly { readonly name: string; readonly problem: string | undefined }[]
}

export class Health {
  readonly #live = new Map<string, Check>()
  readonly #ready = new Map<string, Check>()

  /** Only for what a restart can fix: restarting a process for its server's fault adds a second fault. */
  liveWhen(name: string, check: Check): void {
    this.#live.set(name, check)
  }

  readyWhen(name: string, check: Check): void {
    this.#ready.set(name, check)
  }

  live(): HealthReport {
    return report(this.#live)
  }

  ready(): HealthReport {
    return report(this.#ready)
  }
}

/** A check that throws counts as failed. */
function report(checks: ReadonlyMap<string, Check>): HealthReport {
  const results = [...checks].map(([name, check]) => ({ name, problem: problemOf(check) }))
  return { ok: results.every((r) => r.problem === undefined), checks: results }
}

function problemOf(check: Check): string | undefined {
  try {
    return check()
  } catch (error) {
    return `the check failed: ${messageOf(error)}`
  }
}

/** One line per check, like kubectl's `--raw /readyz?verbose`. */
export const healthText = ({ ok, checks }: HealthReport): string =>
  [
    ...checks.map(({ name, problem }) => (problem === undefined ? `[+] ${name} ok` : `[-] ${name}: ${problem}`)),
    ok ? 'ok' : 'failed',
    '',
  ].join('\n')
