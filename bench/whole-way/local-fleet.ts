// A fresh local fleet as processes, as `npm start` runs it: started, Ready, and ended with nothing left.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { KubeNodeError } from '#lib/errors.ts'
import { benchErrors } from '../bench-errors.ts'
import type { ProcessSeen } from './process-tree.ts'

const KUBENODE = join(resolve(import.meta.dirname, '../..'), 'bin/kubenode')
/** A busy machine takes a fifth of it; beyond it the fleet hangs. */
const READY_WITHIN_MS = 240_000
const STOP_WITHIN_MS = 60_000
const VERSIONS = 'fleet/clusters/versions.json'

const exec = promisify(execFile)

export const secondsSince = (at: number): number => (performance.now() - at) / 1_000

export const startLocal = (data: string, nodes: number): ChildProcess =>
  spawn(KUBENODE, ['local', 'up', '--data', data, '--nodes', String(nodes)], { stdio: ['ignore', 'ignore', 'pipe'] })

/** Its own `ready after … is the answer of the same look that ends `local up --check`. */
export function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((done, fail) => {
    const said: string[] = []
    const late = setTimeout(() => fail(broken('was not Ready in time', said)), READY_WITHIN_MS)
    const lines = createInterface({ input: child.stderr ?? process.stdin })
    lines.on('line', (line) => {
      said.push(line)
      if (!line.startsWith('ready after ')) return
      clearTimeout(late)
      done()
    })
    child.once('exit', (code) => {
      clearTimeout(late)
      fail(broken(`ended with ${code}`, said))
    })
  })
}

const broken = (how: string, said: readonly string[]): KubeNodeError =>
  new KubeNodeError(benchErrors.KN9020({ how, said: said.slice(-5).join(' | ') }))

/** Commits another version of a component and waits until both clusters follow it. The seconds from the commit. */
export async function followBeacon(data: string, version: string, timeout: string): Promise<number> {
  const repository = join(data, 'repository')
  const file = join(repository, VERSIONS)
  const versions = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
  writeFileSync(file, `${JSON.stringify({ ...versions, beacon: version }, null, 2)}\n`)
  const began = performance.now()
  await exec('git', ['-C', repository, 'commit', '--quiet', '-m', `beacon ${version}`, '--', VERSIONS])
  await exec(KUBENODE, ['local', 'status', '--data', data, '--wait', '--timeout', timeout])
  return secondsSince(began)
}

export async function stopLocal(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null || child.signalCode !== null) return 0
  const began = performance.now()
  const ended = new Promise<void>((done) => void child.once('exit', () => done()))
  child.kill('SIGINT')
  const hard = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
  await ended
  clearTimeout(hard)
  return secondsSince(began)
}

export function endLeftovers(left: readonly ProcessSeen[]): void {
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it ended by itself
    }
  }
}
