// Runs the real kubectl against a server, with a home and a cache of its own. Where there is none the tests fail: nothing is skipped.
import { execFile, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { RunningServer } from '#test/support/servers/api-servers.ts'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Far beyond any call here: a kubectl that hangs is a failure with its output, not a test that times out without. */
const WITHIN_MS = 200_000

export class Kubectl {
  readonly #env: Readonly<Record<string, string | undefined>>

  readonly #lacksAccounts: boolean

  constructor(server: RunningServer) {
    this.#lacksAccounts = server.lacksAccounts === true
    const home = dirname(server.kubeconfig)
    this.#env = {
      PATH: process.env['PATH'],
      // It lives for a tenth of a second: collecting garbage costs it more than the memory does.
      GOGC: 'off',
      GOMEMLIMIT: '256MiB',
      HOME: home,
      KUBECONFIG: server.kubeconfig,
      KUBECACHEDIR: join(home, 'cache'),
    }
  }

  /** Words are split at blanks; what has blanks or quotes comes as further arguments. */
  run(words: string, rest: readonly string[] = [], { stdin, env = {} }: RunOptions = {}): Promise<Said> {
    return new Promise((resolve, reject) => {
      const child = execFile(
        'kubectl',
        [...split(words), ...rest],
        { env: { ...this.#env, ...env }, timeout: WITHIN_MS, maxBuffer: 32 * 1024 * 1024 },
        (e, out, err) => {
          if (e !== null && typeof e.code !== 'number')
            return reject(new Error(`kubectl ${words} did not end well: ${e.message}\n${out}\n${err}`))
          resolve({ code: e === null ? 0 : Number(e.code), out, err })
        },
      )
      child.stdin?.end(stdin)
    })
  }

  /** What a command that must succeed prints. */
  async ok(words: string, rest: readonly string[] = [], options: RunOptions = {}): Promise<string> {
    const { code, out, err } = await this.run(words, rest, options)
    if (code !== 0) throw new Error(`kubectl ${words} ${rest.join(' ')} ended with ${code}: ${err}${out}`)
    return out
  }

  /** What a command that must fail complains about. */
  async refused(words: string, rest: readonly string[] = [], options: RunOptions = {}): Promise<string> {
    const { code, out, err } = await this.run(words, rest, options)
    if (code === 0) throw new Error(`kubectl ${words} ${rest.join(' ')} was expected to fail and printed: ${out}`)
    return err
  }

  async json<T>(words: string, rest: readonly string[] = []): Promise<T> {
    return JSON.parse(await this.ok(`${words} -o json`, rest)) as T
  }

  /** With the account that pods need, where no controller manager makes it. */
  async namespace(name: string): Promise<void> {
    await this.ok(`create namespace ${name}`)
    if (this.#lacksAccounts) await this.ok(`create serviceaccount default -n ${name}`)
  }

  apply(manifests: readonly unknown[], words = ''): Promise<string> {
    return this.ok(`apply -f - ${words}`, [], { stdin: documents(manifests) })
  }

  /** A command that runs until it is stopped; `until` waits for its output. */
  follow(words: string): Following {
    const child = spawn('kubectl', split(words), { env: { ...this.#env }, stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    const waiting = new Set<() => void>()
    const more = (part: Buffer) => {
      text += part.toString()
      for (const look of waiting) look()
    }
    child.stdout.on('data', more)
    child.stderr.on('data', more)
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
    return {
      until: (pattern) =>
        new Promise((resolve, reject) => {
          const done = () => {
            clearTimeout(late)
            waiting.delete(look)
          }
          const late = setTimeout(() => {
            done()
            reject(new Error(`kubectl ${words} did not print ${String(pattern)}, but: ${text}`))
          }, WITHIN_MS)
          const look = () => {
            if (!pattern.test(text)) return
            done()
            resolve(text)
          }
          waiting.add(look)
          look()
        }),
      stop: async () => {
        child.kill('SIGTERM')
        await ended
      },
    }
  }
}

export interface Following {
  until(pattern: RegExp): Promise<string>
  stop(): Promise<void>
}

const split = (words: string): string[] => words.split(/\s+/).filter((w) => w !== '')

/** As one document: kubectl does not split JSON. */
export const documents = (manifests: readonly unknown[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests })

let counter = 0
/** A name that no other test uses, also on a server that is used twice. */
export const fresh = (base: string): string => `${base}-${process.pid.toString(36)}${(++counter).toString(36)}`
