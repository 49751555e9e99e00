// A pseudo-terminal for tests: what a person sees of a program, at a size, with keys pressed once something is shown. It is terminal.py; Node has no pty.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'

export interface Step {
  /** A regular expression of Python over what was shown since the step before. */
  readonly wait: string
  readonly send?: string
  readonly resize?: readonly [number, number]
}

export interface Session {
  readonly argv: readonly string[]
  readonly steps: readonly Step[]
  readonly cols?: number
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
}

export interface Shown {
  readonly shown: string
  /** Negative: by a signal. */
  readonly code: number
  /** Ended by the deadline, with so many steps left. */
  readonly late: boolean
  readonly left: number
}

/** A loaded machine takes a minute for what takes two seconds alone. */
const DEADLINE_S = 120

export const hasPython = (): boolean => spawnSync('python3', ['-c', 'import pty']).status === 0

export async function onTerminal({ argv, steps, cols = 100, env = {}, cwd }: Session): Promise<Shown> {
  const child = spawn('python3', [join(import.meta.dirname, 'terminal.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (t: string) => (out += t))
  const ended = new Promise((resolve) => child.on('close', resolve))
  const base = { PATH: process.env['PATH'] ?? '', HOME: cwd, TERM: 'xterm', LANG: 'C.UTF-8' }
  child.stdin.end(JSON.stringify({ argv, steps, cols, rows: 30, env: { ...base, ...env }, cwd, deadline: DEADLINE_S }))
  await ended
  return JSON.parse(out) as Shown
}

/** Without what moves the cursor, sets colors or titles. */
export const plainText = (shown: string): string =>
  // oxlint-disable-next-line no-control-regex
  shown.replaceAll(/\u001b(\[[0-9;?]*[A-Za-z]|\][^\u0007]*\u0007|[()][A-Z0-9]|[=>])/g, '')
