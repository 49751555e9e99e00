import { DETECTOR_CONDITIONS } from '#api/agent-config/detector-settings.ts'
import type { Reply } from '#ssh/channel.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import type { Problem } from '../../detect/problems.ts'
import { CONDITIONS_OVER_SSH, DETECTORS_OVER_SSH, HostDetectors } from './host-detectors.ts'

interface World {
  room?: string
  services?: string
  files?: Readonly<Record<string, string>>
  aheadMs?: number
}

const MOUNT = (options: string) => `1 0 8:1 / / rw - ext4 /dev/a ${options}`

/** A host that is asked twice a round: for a look, and for the files that detectors asked for. */
function hostOf(world: World) {
  const clock = new VirtualClock()
  const detectors = new HostDetectors('boot', clock)
  const problems = new Map<string, Problem>()
  const ask = async ({ snippet }: { readonly snippet: string }): Promise<Reply> => {
    const reply = (text: string): Reply => ({ code: 0, stdout: Buffer.from(text), stderr: '' })
    if (snippet.includes('find -H')) return reply('all\n')
    if (snippet.includes('grep -asHZ'))
      return reply(
        `${Object.entries(world.files ?? {})
          .map(([path, text]) => `${path}\0${text}\n`)
          .join('')}all\n`,
      )
    const now = clock.now() + (world.aheadMs ?? 0)
    return reply([now, world.room ?? '0 100 50 4096 0 0', '', '', '', 'all', '', world.services ?? ''].join('\n\0'))
  }
  return {
    problems,
    look: async (afterMs = 60_000) => {
      await clock.advance(afterMs)
      const found = await detectors.look({
        channel: { ask },
        upMs: () => 60_000,
        problem: (type) => problems.get(type),
      })
      return found.filter((r) => r.status !== 'False').map((r) => `${r.type}: ${r.message}`)
    },
    all: async () => {
      await clock.advance(60_000)
      return detectors.look({ channel: { ask }, upMs: () => 60_000, problem: (type) => problems.get(type) })
    },
  }
}

test('a full disk, a file system that turned read-only, a kubelet that does not answer and a clock that is off are found', async () => {
  const world: World = { files: { '/proc/self/mountinfo': MOUNT('rw') } }
  const host = hostOf(world)
  expect(await host.look()).toEqual([])
  world.room = '0 100 3 4096 0 0'
  world.files = { '/proc/self/mountinfo': MOUNT('ro') }
  world.services = 'kubelet active running  7\ncontainerd failed failed  '
  world.aheadMs = 90_000
  const found = await host.look()
  expect(found).toContain('DiskSpaceLow: /: 3 % of bytes are free')
  expect(found.join()).toContain('FilesystemReadOnly')
  expect(found.join()).toContain('kubelet:kubelet was found unhealthy: it does not answer')
  expect(found.join()).toContain('runtime:containerd was found unhealthy: failed (failed)')
  // Two in a row, as with an agent.
  expect(found.join()).not.toContain('ClockSkewed')
  expect((await host.look()).join()).toContain('ClockSkewed')
})

test('what could not be asked says nothing: no tool, no unit, no answer', async () => {
  const world: World = { services: 'kubelet active running  127\ncrio active running  \nevil x y 0' }
  const types = (await hostOf(world).all()).map((r) => r.type)
  expect(types).not.toContain('KubeletUnhealthy')
  expect(types).not.toContain('ContainerRuntimeUnhealthy')
  expect(types).not.toContain('FilesystemReadOnly')
  expect(types).not.toContain('BootSlow')
})

test('a visit that follows a change looks no second time', async () => {
  const world: World = { room: '0 100 3 4096 0 0' }
  const host = hostOf(world)
  expect((await host.look()).length).toBe(1)
  expect(await host.look(5_000)).toEqual([])
})

test('only conditions of the detectors that work over SSH are theirs', async () => {
  for (const { type } of await hostOf({}).all()) expect(CONDITIONS_OVER_SSH).toContain(type)
  for (const name of ['nameLookups', 'diskHealth', 'gpu'] as const) {
    expect(DETECTORS_OVER_SSH).not.toContain(name)
    for (const type of DETECTOR_CONDITIONS[name]) expect(CONDITIONS_OVER_SSH).not.toContain(type)
  }
})
