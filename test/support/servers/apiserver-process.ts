// `kubenode apiserver` as a real process, for tests that kill it.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const PROGRAM = join(import.meta.dirname, '../../../bin/kubenode')

export interface ServerProcess {
  readonly url: string
  readonly port: number
  readonly ca: string
  readonly cert: string
  readonly key: string
  /** Resolves when it has ended, by itself too. */
  readonly ended: Promise<Ended>
  /** Stops for a while, like a machine that swaps or a virtual machine that is migrated. */
  pause(ms: number): Promise<void>
  /** Sends a signal and waits for the end. */
  end(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<Ended>
}

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly err: string
}

export type Started = { readonly server: ServerProcess } | { readonly failed: Ended }

export interface HowToStart {
  /** A program that runs it, with its arguments. */
  readonly under?: readonly string[]
  /** A script in its place. */
  readonly script?: string
}

/** Either it serves, or it ends and says why. */
export async function startApiServer(
  data: string,
  port = 0,
  { under = [], script }: HowToStart = {},
): Promise<Started> {
  const words = script === undefined ? [PROGRAM] : [process.execPath, script]
  const [command, ...args] = [...under, ...words, 'apiserver', '--data', data, '--port', String(port)]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stderr.on('data', (d: Buffer) => void (err += d.toString()))
  const ended = new Promise<Ended>((resolve) => child.once('close', (code, signal) => resolve({ code, signal, err })))
  const ready = new Promise<'ready'>((resolve) =>
    child.stdout.on('data', (d: Buffer) => {
      out += d.toString()
      if (out.includes('\n')) resolve('ready')
    }),
  )
  const first = await Promise.race([ready, ended])
  if (first !== 'ready') return { failed: first }
  const kubeconfig = readFileSync(out.trim(), 'utf8')
  const url = /server: (\S+)/.exec(kubeconfig)?.[1] ?? ''
  const pem = (name: string) => readFileSync(join(data, 'pki', name), 'utf8')
  return {
    server: {
      url,
      port: Number(new URL(url).port),
      ca: pem('ca.crt'),
      cert: pem('admin.crt'),
      key: pem('admin.key'),
      ended,
      pause: async (ms) => {
        child.kill('SIGSTOP')
        await sleep(ms)
        child.kill('SIGCONT')
      },
      end: (signal) => {
        child.kill(signal)
        return ended
      },
    },
  }
}

export async function startedApiServer(data: string, port = 0, how: HowToStart = {}): Promise<ServerProcess> {
  const started = await startApiServer(data, port, how)
  if ('failed' in started) throw new Error(`the server did not start: ${JSON.stringify(started.failed)}`)
  return started.server
}
