// A copy of a host with the same machine id does not start beside the host itself; a host that rebooted always starts.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { agentLeaseKey } from '#api/names.ts'
import { microTimestamp } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { realFiles } from '../files/real.ts'
import { lastBootFile, nodeDir } from '../node-dir.ts'
import { leaseType } from '../node/types.ts'
import { refuseBesideOther } from './other-host.ts'

const EVERY_MS = 10_000
const key = agentLeaseKey('m')
const root = mkdtempSync(join(tmpdir(), 'other-host-'))
afterEach(() => rmSync(root, { recursive: true, force: true }))

interface World {
  /** In which boot the record was written; undefined: there is none. */
  readonly recorded?: string
  /** The Lease was renewed so long ago; undefined: there is none. */
  readonly renewedAgoMs?: number
  readonly isOtherAlive?: boolean
  readonly upMs?: number
  readonly isAway?: boolean
}

/** What the start says, whether it waited for another renewal, and the boot on record after it. */
async function start({ recorded, renewedAgoMs, isOtherAlive = false, upMs = 60_000, isAway = false }: World) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [], bookmarkEveryMs: 0 })
  const renew = (at: number) => ({
    spec: { holderIdentity: 'm', leaseDurationSeconds: 40, renewTime: microTimestamp(at) },
  })
  if (renewedAgoMs !== undefined)
    fake.plant(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: key,
      ...renew(clock.now() - renewedAgoMs),
    })
  const dir = nodeDir(root)
  mkdirSync(dirname(lastBootFile(dir)), { recursive: true })
  if (recorded !== undefined) writeFileSync(lastBootFile(dir), recorded)
  const client = fake.client({ actor: 'agent' })
  let sleeps = 0
  const said = await refuseBesideOther({
    files: realFiles,
    dir,
    clock: {
      now: () => clock.now(),
      sleep: async () => {
        sleeps++
        if (isOtherAlive) fake.poke(leaseType, key, renew(clock.now() + EVERY_MS))
      },
    },
    log: silentLogger,
    client: isAway ? { patch: () => Promise.reject(new Error('away')) } : client,
    machine: 'm',
    bootId: 'boot-2',
    everyMs: EVERY_MS,
    signal: new AbortController().signal,
    upMs: () => upMs,
  }).then(() => 'started', messageOf)
  const boot = (() => {
    try {
      return readFileSync(lastBootFile(dir), 'utf8')
    } catch {
      return undefined
    }
  })()
  return { said, sleeps, boot }
}

describe('an agent that starts in another boot than the one on record', () => {
  test('F34 is refused while another host renews the Lease, and will be at its next start', async () => {
    const { said, boot } = await start({ recorded: 'boot-1', renewedAgoMs: 5_000, isOtherAlive: true })
    expect(said).toMatch(/^KN8005: cannot start as m: another host with this identity .* systemd-machine-id-setup/)
    expect(boot).toBe('boot-1')
  })

  test('starts at once after a reboot: its own last renewal is older than the boot', async () => {
    expect(await start({ recorded: 'boot-1', renewedAgoMs: 90_000 })).toEqual({
      said: 'started',
      sleeps: 0,
      boot: 'boot-2',
    })
  })

  test('starts a little later where a clock that was set makes its own renewal look younger', async () => {
    expect(await start({ recorded: 'boot-1', renewedAgoMs: -3_600_000 })).toMatchObject({
      said: 'started',
      sleeps: 1,
      boot: 'boot-2',
    })
  })

  test.each<[string, World]>([
    ['where there is no Lease', { recorded: 'boot-1' }],
    ['in the boot on record', { recorded: 'boot-2', renewedAgoMs: 0 }],
    ['where no boot is on record', { renewedAgoMs: 0 }],
  ])('starts at once %s', async (_, world) => {
    expect(await start(world)).toEqual({ said: 'started', sleeps: 0, boot: 'boot-2' })
  })

  test('starts without the API server, and asks again at its next start', async () => {
    expect(await start({ recorded: 'boot-1', isAway: true })).toEqual({ said: 'started', sleeps: 0, boot: 'boot-1' })
  })
})
