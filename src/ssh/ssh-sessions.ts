// Runs scripts on hosts through OpenSSH's client. A session is one process group that ends by its deadline, however the host behaves, and what it may cost
// here is bounded: time, output, files, sessions at once.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { messageOf } from '#lib/errors.ts'
import { killGroup } from '#lib/kill-group.ts'
import { Semaphore } from '#lib/semaphore.ts'
import { MAX_ANSWER_BYTES, answerIn, oneLine } from './answers.ts'
import { type Channel, openChannel } from './channel.ts'
import { type Failed, OF_SSH, failureOf } from './failures.ts'
import { makeSessionFolder, openSessionsFolder } from './session-folder.ts'
import type { RescueCommand } from './rescue-commands.ts'
import { PER_JUMP_HOST } from './login/target-of.ts'
import { type SshIdentity, type SshTarget, JUMP, TARGET, publicKeyIn, targetProblem } from './target.ts'

export interface SessionsOptions {
  /** Private folder for keys while they are in use. */
  readonly folder: string
  /** Where ssh is found. */
  readonly path: string
  /** Sessions at once over all hosts. */
  readonly atOnce: number
  /** Another program in place of ssh. */
  readonly program?: string
}

export interface Session {
  readonly target: SshTarget
  readonly identity: SshIdentity
  /** From `hostScript`. May contain secrets: it is passed on standard input only. */
  readonly script: string
  /** Instead of the shell: for a key that can run only a command of its own, and none of the script. */
  readonly command?: RescueCommand
  /** The user is not root: run it through sudo, which must not ask for a password. */
  readonly sudo: boolean
  readonly deadlineMs: number
}

/** A dialog with a shell on a host: its snippets come one after the other. */
export interface Conversation extends Pick<Session, 'target' | 'identity' | 'sudo'> {
  /** Runs first, in the shell itself; ends it to refuse. */
  readonly prelude: string
  /** Only tests change it. */
  readonly idleS?: number
}

export type SessionResult =
  | {
      readonly kind: 'Done'
      readonly facts: ReadonlyMap<string, string>
      /** The key that was accepted on first use. */
      readonly hostKey: string | undefined
    }
  | Failed

/** The cause comes last, and servers may print anything before it. */
const MAX_MESSAGES_BYTES = 64 * 1024
/** A process in the group may keep the pipes open after ssh has ended. */
const DRAIN_MS = 1_000

export class SshSessions {
  readonly #options: SessionsOptions
  readonly #all: Semaphore
  #isOpen = false
  readonly #byJump = new Map<string, Semaphore>()

  constructor(options: SessionsOptions) {
    this.#options = options
    this.#all = new Semaphore(options.atOnce, { what: 'SSH sessions' })
  }

  /** Throws only when the signal aborts it or this machine cannot start ssh. */
  async run(session: Session, signal: AbortSignal): Promise<SessionResult> {
    return this.inTurn(session.target, (turn) => turn.run(session, signal), signal)
  }

  /** Waits for a turn. What must be true right before a session starts can be read within `work`: its `run` waits for nothing else. */
  async inTurn<R>(
    { jump }: SshTarget,
    work: (turn: Pick<SshSessions, 'run'>) => Promise<R>,
    signal: AbortSignal,
  ): Promise<R> {
    const turn = { run: (session: Session, ended: AbortSignal) => this.#run(session, ended) }
    const begin = () => this.#all.run(() => work(turn), signal)
    // First its turn at the jump host: sessions that wait for a slow one take no place from other hosts.
    return jump === undefined ? begin() : this.#of(`${jump.host}:${jump.port}`).run(begin, signal)
  }

  #of(jump: string): Semaphore {
    const found = this.#byJump.get(jump) ?? new Semaphore(PER_JUMP_HOST, { what: `SSH sessions through ${jump}` })
    this.#byJump.set(jump, found)
    return found
  }

  /**
   * Keeps a session for a dialog, as long as `work` lasts. It counts as one session at once, and its host can end it at any time. Its turn at the jump host
   * ends when it is open: only logins under way are few there.
   */
  async converse<R>(
    session: Conversation,
    work: (channel: Channel) => Promise<R>,
    signal: AbortSignal,
  ): Promise<R | Failed> {
    const problem = targetProblem(session.target)
    if (problem !== undefined) return { kind: 'Failed', failure: 'PreflightFailed', why: problem }
    const within = async (): Promise<R | Failed> => {
      const { child, files } = this.#spawned(session)
      try {
        const channel = await opened(child)
        if (channel.kind === 'Failed') {
          signal.throwIfAborted()
          const { code, stderr } = channel
          const { failure, line } = failureOf(code, stderr, isPinned(session.target, stderr))
          return { kind: 'Failed', failure, why: oneLine(line) }
        }
        return await work(channel).finally(() => channel.close())
      } finally {
        killGroup(child.pid)
        files.remove()
      }
    }
    const { jump } = session.target
    const release = jump === undefined ? undefined : await this.#of(`${jump.host}:${jump.port}`).acquire(signal)
    const opened = (child: ChildProcess) => openChannel(child, { ...session, signal }).finally(release)
    try {
      return await this.#all.run(within, signal)
    } finally {
      release?.()
    }
  }

  #spawned({ target, identity, sudo, command }: Pick<Session, 'target' | 'identity' | 'sudo' | 'command'>) {
    const { folder, path, program = 'ssh' } = this.#options
    // Not before it is needed: most programs never open a session.
    if (!this.#isOpen) openSessionsFolder(folder)
    this.#isOpen = true
    const files = makeSessionFolder(folder, target, identity)
    const child = spawn(
      program,
      ['-F', files.config, '-T', '--', TARGET, command ?? (sudo ? 'sudo -n sh -s' : 'sh -s')],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
        env: { PATH: path, LC_ALL: 'C' },
      },
    )
    return { child, files }
  }

  async #run(session: Session, signal: AbortSignal): Promise<SessionResult> {
    const { target, script, deadlineMs } = session
    const problem = targetProblem(target)
    if (problem !== undefined) return { kind: 'Failed', failure: 'PreflightFailed', why: problem }
    const { child, files } = this.#spawned(session)
    try {
      const ended = await ran(child, { script, deadlineMs, signal })
      signal.throwIfAborted()
      return resultOf(ended, target, () => keyIn(files.knownHosts), deadlineMs)
    } finally {
      files.remove()
    }
  }
}

type Cut = 'Late' | 'Loud'

interface Ended {
  readonly code: number | null
  readonly cut: Cut | undefined
  readonly stdout: string
  readonly stderr: string
}

interface Bounds {
  readonly script: string
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

async function ran(child: ChildProcess, { script, deadlineMs, signal }: Bounds): Promise<Ended> {
  let cut: Cut | undefined
  const kill = (): void => killGroup(child.pid)
  const end = (why: Cut): void => {
    cut ??= why
    kill()
  }
  // ssh that ended at once closes its input; its exit has the reason.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(script)
  const stdout = collected(child.stdout, MAX_ANSWER_BYTES, () => end('Loud'))
  const stderr = collected(child.stderr, MAX_MESSAGES_BYTES, () => end('Loud'))
  const late = setTimeout(() => end('Late'), deadlineMs)
  signal.addEventListener('abort', kill, { once: true })
  if (signal.aborted) kill()
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
      child.once('exit', (exitCode) => {
        setTimeout(() => {
          kill()
          child.stdout?.destroy()
          child.stderr?.destroy()
          resolve(exitCode)
        }, DRAIN_MS).unref()
      })
    })
    return { code, cut, stdout: stdout(), stderr: stderr() }
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', kill)
    kill()
  }
}

function collected(stream: ChildProcess['stdout'], most: number, flooded: () => void): () => string {
  const chunks: Buffer[] = []
  let bytes = 0
  stream?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= most) chunks.push(chunk)
    else flooded()
  })
  return () => Buffer.concat(chunks).toString('utf8')
}

function resultOf(
  { code, cut, stdout, stderr }: Ended,
  { trust, jump }: SshTarget,
  hostKey: () => string | undefined,
  deadlineMs: number,
): SessionResult {
  const failed = (failure: Failed['failure'], why: string): Failed => ({ kind: 'Failed', failure, why: oneLine(why) })
  if (cut === 'Loud') return failed('PreflightFailed', `it sent more than ${MAX_ANSWER_BYTES / 1024} KiB`)
  const answer = answerIn(stdout)
  if (answer.failed !== undefined) return failed(answer.failed.failure, answer.failed.why)
  if (cut === 'Late') return failed('TimedOut', `not finished after ${deadlineMs / 1_000}s`)
  // Its end was reported; that the connection was lost after it, as by a reboot, changes nothing.
  if ((code === 0 || code === OF_SSH) && answer.isDone)
    return { kind: 'Done', facts: answer.facts, hostKey: trust.kind === 'FirstUse' ? hostKey() : undefined }
  if (code === 0) return failed('PreflightFailed', 'its login shell did not run the script')
  const { failure, line } = failureOf(code, stderr, isPinned({ trust, jump }, stderr))
  return failed(failure, line)
}

/** Of the server that the message is about. */
const isPinned = ({ trust, jump }: Pick<SshTarget, 'trust' | 'jump'>, stderr: string): boolean =>
  (stderr.includes(JUMP) ? jump : { trust })?.trust.kind === 'Pinned'

/** ssh wrote it there. */
function keyIn(knownHosts: string): string | undefined {
  try {
    return publicKeyIn(readFileSync(knownHosts, 'utf8'))
  } catch (e) {
    throw new Error(`cannot read the key that was accepted: ${messageOf(e)}`, { cause: e })
  }
}
