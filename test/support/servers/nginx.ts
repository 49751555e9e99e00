// A real nginx on loopback with the `server` block of a page of the docs: only the port and the addresses of files and servers are replaced.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '#test/support/tools/processes.ts'
import { freePort } from './free-port.ts'

const STARTS_WITHIN_MS = 10_000
const PROGRAM = ['nginx', '/usr/sbin/nginx'].find((name) => spawnSync(name, ['-v']).status === 0)

export const isNginxHere = PROGRAM !== undefined

export interface RunningNginx {
  readonly port: number
  stop(): Promise<void>
}

/** `files`: texts by the path that the block names. `replaced`: other words of the block, such as the address of the server behind it. */
export interface NginxOptions {
  readonly block: string
  readonly files: ReadonlyMap<string, string>
  readonly replaced: ReadonlyMap<string, string>
  readonly port?: number
}

export async function startNginx({ block, files, replaced, port }: NginxOptions): Promise<RunningNginx> {
  if (PROGRAM === undefined) throw new Error('nginx is not installed: apt-get install nginx-light')
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-nginx-'))
  // Started as root, its workers are another user.
  chmodSync(folder, 0o711)
  const at = port ?? (await freePort())
  let text = exchanged(block, 'listen 443 ssl', `listen 127.0.0.1:${at} ssl`)
  for (const [before, after] of replaced) text = exchanged(text, before, after)
  let number = 0
  for (const [path, content] of files) {
    const file = join(folder, `file-${++number}`)
    writeFileSync(file, content)
    text = exchanged(text, path, file)
  }
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, configOf(folder, text))
  const log = join(folder, 'error.log')
  const child = spawn(PROGRAM, ['-p', folder, '-c', config, '-e', log, '-g', 'daemon off;'], { stdio: 'ignore' })
  const stop = async (): Promise<void> => {
    await ended(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('nginx listens', () => isOpen(at, child), STARTS_WITHIN_MS)
  } catch (cause) {
    const why = readFileSync(log, 'utf8')
    await stop()
    throw new Error(`nginx does not start: ${why}`, { cause })
  }
  return { port: at, stop }
}

function exchanged(text: string, before: string, after: string): string {
  if (!text.includes(before)) throw new Error(`the block has no ${before}`)
  return text.replaceAll(before, after)
}

/** All files are in this folder: a user without other rights can run it. */
const configOf = (folder: string, block: string): string => `
pid ${folder}/nginx.pid;
worker_processes 1;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`).join('\n  ')}
  ${block}
}
`

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}

const isOpen = (port: number, child: ChildProcess): Promise<boolean> => {
  if (child.exitCode !== null) throw new Error('nginx ended')
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
