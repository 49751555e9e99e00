// Runs login programs (exec plug-ins) for client-node as kubectl does: environment, terminal, and limits on time and output.
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { KubeConfig, User } from '@kubernetes/client-node'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'

/** Shows a login program's message to the user at the terminal. */
export type ShowLine = (text: string) => void

export interface LoginOptions {
  readonly user: User
  readonly clock: Clock
  /** Set at an interactive terminal: the program may prompt there. */
  readonly show?: ShowLine | undefined
}

/** A login program may contact a cloud. */
const LONGEST_ANSWER_MS = 60_000
/** A user opens a browser, finds a second factor, types a code. */
const LONGEST_DIALOG_MS = 10 * 60_000
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000
/** A token with a large company's groups has some ten kilobytes. */
const MAX_OUTPUT = 1024 * 1024
const MAX_MESSAGE = 300

export const longestLoginMs = ({ user, show }: Pick<LoginOptions, 'user' | 'show'>): number =>
  isDialog(user.exec, show) ? LONGEST_DIALOG_MS : LONGEST_ANSWER_MS

const isDialog = (exec: unknown, show: ShowLine | undefined): boolean =>
  show !== undefined && isObject(exec) && exec['interactiveMode'] !== 'Never'

/** Private in client-node: the function that starts a program. */
interface ExecAuth {
  execFn: (command: string, args: readonly string[] | null | undefined, options: SpawnOptions) => ChildProcess
}

export interface Login {
  /** The cluster's info, for programs that want it (provideClusterInfo). */
  cluster: object | undefined
  /** Wall clock: when the last credential expires; undefined if unknown. */
  endsAt: number | undefined
}

/** From now on, every login program of this kubeconfig starts here. */
export function startLoginsOf(kc: KubeConfig, login: Login, options: LoginOptions): void {
  const { authenticators } = kc as unknown as { readonly authenticators: readonly object[] }
  const found = authenticators.find((a): a is ExecAuth => 'execFn' in a)
  if (found === undefined) throw new Error('client-node has no ExecAuth that starts programs')
  found.execFn = (command, args, spawnOptions) => started(command, args ?? [], spawnOptions, login, options)
}

function started(
  command: string,
  args: readonly string[],
  spawnOptions: SpawnOptions,
  login: Login,
  { user, clock, show }: LoginOptions,
): ChildProcess {
  const exec = isObject(user.exec) ? user.exec : {}
  const interactive = isDialog(exec, show)
  if (exec['interactiveMode'] === 'Always' && !interactive)
    throw new Error('it needs a terminal (interactiveMode: Always)')
  const { apiVersion } = exec
  const info = { kind: 'ExecCredential', apiVersion, spec: { interactive, ...defined({ cluster: login.cluster }) } }
  const longest = longestLoginMs({ user, show })
  const child = spawn(command, args, {
    ...spawnOptions,
    ...(spawnOptions.env && { env: { ...spawnOptions.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) } }),
    // Otherwise a program that reads its input would hang.
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'pipe'],
  })
  // client-node rejects with the last error event once the program has exited.
  let isFailed = false
  child.on('error', () => (isFailed = true))
  const fail = (why: string): void => {
    if (!isFailed) child.emit('error', new Error(why))
  }
  const [out, err] = [new Output(child.stdout, fail), new Output(child.stderr, fail, show)]
  const timers = [
    clock.after(longest, () => {
      fail(`no answer within ${longest / 1_000} s`)
      child.kill()
    }),
    // A grandchild may outlive the program and keep its output open.
    clock.after(longest + GRACE_MS, () => {
      child.kill('SIGKILL')
      for (const output of [out, err]) output.end()
    }),
  ]
  child.on('close', (code, signal) => {
    for (const timer of timers) timer.cancel()
    if (code !== 0) return fail(`${code === null ? `ended by ${signal}` : `exit code ${code}`}${messageIn(err.text)}`)
    const answer = answerIn(out.text, apiVersion)
    if (typeof answer === 'string') fail(answer)
    else login.endsAt = answer.endsAt
  })
  return child
}

class Output {
  text = ''
  readonly #stream: Readable

  constructor(stream: Readable, fail: (why: string) => void, show?: ShowLine) {
    this.#stream = stream
    stream.setEncoding('utf8').on('data', (more: string) => {
      this.text += more
      show?.(more)
      if (this.text.length <= MAX_OUTPUT) return
      fail(`it answered with more than ${MAX_OUTPUT / 1024} KiB`)
      this.end()
    })
  }

  /** A program that is still running gets SIGPIPE at its next write. */
  end(): void {
    this.#stream.destroy()
  }
}

/** The first line with words; in a Python stack trace the last one, which has the error. */
function messageIn(text: string): string {
  const lines = text.split('\n').flatMap((line) => line.trim() || [])
  const line = lines[0]?.startsWith('Traceback ') ? lines.at(-1) : lines[0]
  return line === undefined ? '' : `: ${line.slice(0, MAX_MESSAGE)}`
}

/** Never quotes the output: it may contain a token. */
function answerIn(text: string, apiVersion: unknown): string | { readonly endsAt: number | undefined } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return `it answered with ${text.length} characters that are not JSON`
  }
  if (!isObject(value) || value['kind'] !== 'ExecCredential' || !isObject(value['status']))
    return 'its answer is not an ExecCredential with a status'
  if (apiVersion !== undefined && value['apiVersion'] !== apiVersion)
    return `it answers in ${String(value['apiVersion']).slice(0, 100)}, the kubeconfig expects ${String(apiVersion)}`
  const endsAt = Date.parse(String(value['status']['expirationTimestamp']))
  return { endsAt: Number.isNaN(endsAt) ? undefined : endsAt }
}
