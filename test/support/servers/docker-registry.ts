// Debian's docker-registry in a folder of its own, on a free port.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../tools/processes.ts'
import { freePort } from '#test/support/servers/free-port.ts'

const PROGRAM = '/usr/bin/docker-registry'

export const hasDockerRegistry = (): boolean => existsSync(PROGRAM)

export interface RunningRegistry {
  readonly host: string
  readonly stop: () => Promise<void>
}

/** `auth` is the part of its configuration. */
export async function dockerRegistry(auth = ''): Promise<RunningRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-registry-'))
  const host = `127.0.0.1:${await freePort()}`
  const config = join(folder, 'config.yml')
  writeFileSync(
    config,
    `version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: ${folder}/data\nhttp:\n  addr: ${host}\n${auth}`,
  )
  const child = spawn(PROGRAM, ['serve', config], { stdio: 'ignore' })
  const ended = new Promise((done) => child.once('exit', done))
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('docker-registry answers', async () => (await fetch(`http://${host}/v2/`)).status > 0, 30_000)
  } catch (e) {
    await stop()
    throw e
  }
  return { host, stop }
}
