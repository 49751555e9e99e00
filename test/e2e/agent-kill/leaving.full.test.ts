// F47: the kernel kills the agent at one of its disk changes while it leaves its host. The next agent finishes, with the API server away as well: nothing of
// KubeNode is left, and what was there before is there again.
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { release } from '#test/doubles/node/release.ts'
import { noStrace } from '#test/support/faults/strace.ts'
import { MACHINE, eventually } from '../../integration/agent-bench.ts'
import { KillBench, kills, seed, timeoutMs } from './killing.ts'

const SAMPLES = 2
const AMONG = 24
const CONFIG = '/etc/tool.conf'

const bench = new KillBench()
const missing = noStrace()
let attempt = 0

const onNode = (path: string): string => join(bench.nodeFolder, 'root', path)

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  const files = [{ path: CONFIG, mode: '0644', format: 'plain', template: 'ours\n', onChange: 'None' }]
  const install = { binaries: [{ source: 'tool', path: '/usr/bin/tool', mode: '0755' }] }
  const entries = [{ name: 'tool', content: 'tool 1', mode: 0o755 }]
  await bench.publish(
    release(bench.publisher, { component: 'tool', version: '1.0.0', entries, spec: { install, files } }),
  )
})

afterAll(async () => {
  if (missing === undefined) await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

async function declare(more: object): Promise<void> {
  const components = [{ name: 'tool', version: '1.0.0', attempt }]
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { adoption: 'Adopt', components, ...more },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

/** A host with files of its own, adopted. */
async function adoptedHost(): Promise<void> {
  rmSync(bench.nodeFolder, { recursive: true, force: true })
  for (const [path, content] of [
    ['/usr/bin/tool', 'tool 1'],
    [CONFIG, 'of the host\n'],
  ] as const) {
    mkdirSync(dirname(onNode(path)), { recursive: true })
    writeFileSync(onNode(path), content, { mode: 0o640 })
  }
  attempt++
  await declare({})
  bench.machineUid = (await bench.machine())?.metadata.uid
  bench.writeJoin()
  bench.writeConfig({ lease: '10s' })
  await bench.finish(async () => {
    const found = await bench.component('tool')
    return found?.attempt === attempt && found.state === 'Healthy'
  })
  expect(readFileSync(onNode(CONFIG), 'utf8')).toBe('ours\n')
}

const isGone = (): boolean => !existsSync(join(bench.nodeFolder, 'state'))
const isOrdered = (): boolean => existsSync(join(bench.nodeFolder, 'state/leaving.json'))

test(
  `F47 killed at any change of the disk while it leaves, the host is as before in the end (seed ${seed})`,
  async () => {
    let killed = 0
    for (const n of kills(SAMPLES, AMONG)) {
      await adoptedHost()
      await declare({ leaving: true })
      await bench.killedAt(n, async () => isGone())
      // One that came to its end exits by itself.
      const wasKilled = !isGone()
      expect(['ours\n', 'of the host\n'], `killed at change ${n}`).toContain(readFileSync(onNode(CONFIG), 'utf8'))
      // Once it has the order, it needs nothing of the Machine: as if that had been deleted.
      if (isOrdered()) await bench.client.delete(machineType, { name: MACHINE })
      if (!isGone()) {
        const next = bench.run()
        await Promise.race([once(next, 'exit'), eventually('its end', isGone, Boolean, 40_000)])
        if (next.exitCode === null) await once(next, 'exit')
      }
      expect([n, readdirSync(bench.nodeFolder), readFileSync(onNode(CONFIG), 'utf8')]).toEqual([
        n,
        ['root'],
        'of the host\n',
      ])
      expect(readFileSync(onNode('/usr/bin/tool'), 'utf8')).toBe('tool 1')
      if (wasKilled) killed++
      else break
    }
    expect(killed).toBeGreaterThan(0)
  },
  timeoutMs,
)
