// The attacker administers a hosted control plane and makes its server work without end: the process of that plane is killed, and no other plane notices.
// Here the kernel stops the process, which looks the same to all who wait for it.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PlaneClient } from '#test/support/controlplanes/conformance.ts'
import { systemClock } from '#lib/system-clock.ts'
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import { EMBEDDED_DATA } from '#programs/planes/plane-snapshots.ts'
import { spawnPlanes } from '#programs/planes/child.ts'
import { ProcessEngine } from '#controlplanes/embedded/processes/process-engine.ts'
import { planeClient } from '#test/support/servers/plane-client.ts'
import { programFile } from '#test/support/tools/own-build.ts'

const PROGRAM = [process.execPath, programFile('main')]
const ADMIN = { user: 'tenant', groups: ['system:masters'], lifeMs: 3_600_000 } as const

let root: string
let host: EmbeddedHost
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-stuck-'))
  const engine = new ProcessEngine({
    clock: systemClock,
    data: EMBEDDED_DATA,
    perProcess: 1,
    spawn: () => spawnPlanes(PROGRAM),
  })
  host = new EmbeddedHost({ root, clock: systemClock, engine })
  await host.open()
})
afterAll(async () => {
  await host.close()
  rmSync(root, { recursive: true, force: true })
})

const isOurs = (pid: string): boolean => {
  try {
    const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--plane-process')
  } catch {
    return false
  }
}
const processes = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOurs(name))
    .map(Number)

async function planeOf(name: string): Promise<PlaneClient> {
  await host.put({ id: `fleet.${name}`, owner: `uid-${name}`, version: '1.36.0' })
  return planeClient((await host.kubeconfig(`fleet.${name}`, ADMIN)) ?? '')
}
const stateOf = async (name: string) => (await host.get(`fleet.${name}`))?.state

test.runIf(process.platform === 'linux')(
  'a stuck plane is killed and serves again with all that was acknowledged, while another one keeps its process',
  async () => {
    const tenant = await planeOf('a')
    const [stuck] = processes()
    const other = await planeOf('b')
    await tenant.write('kept', '1')
    process.kill(stuck ?? 0, 'SIGSTOP')
    await expect
      .poll(
        async () => {
          // The neighbor works all the time.
          await other.write('busy', '1')
          return processes().includes(stuck ?? 0)
        },
        { interval: 100 },
      )
      .toBe(false)
    const kept = () => tenant.read('kept').catch(() => undefined)
    await expect.poll(kept).toBe('1')
    expect([await stateOf('a'), await stateOf('b'), processes().length]).toEqual(['Running', 'Running', 2])
    tenant.close()
    other.close()
  },
  240_000,
)
