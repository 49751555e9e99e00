// Leaving on a full disk: the order and each phase are saved when there is space again, and none is lost.
import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { Files } from '../files/port.ts'
import { writeDurably } from '../files/durable.ts'
import { foreignFolder, leavingFile, nodeDir } from '../node-dir.ts'
import { leave } from './leave.ts'
import { readLeaving, recordLeaving, type Leaving } from './leaving.ts'
import { saveOriginals } from './save-originals.ts'

const dir = nodeDir('/node')
const ORDER: Leaving = { format: 1, by: 'Machine', phase: 'Components' }

class SmallDisk {
  readonly memory = new MemoryFiles()
  isFull = false
  readonly files: Files = new Proxy<Files>(this.memory, {
    get: (target, name) => {
      if (name === 'create' && this.isFull) return () => Promise.reject(new Error('ENOSPC: no space left on device'))
      const found: unknown = Reflect.get(target, name)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
}

function host() {
  const disk = new SmallDisk()
  const clock = new VirtualClock()
  const stop = new AbortController()
  return { disk, clock, stop, deps: { files: disk.files, dir, clock, log: silentLogger, signal: stop.signal } }
}

test('F47 an order to leave that comes while the disk is full is saved when there is room again', async () => {
  const { disk, clock, deps } = host()
  disk.isFull = true
  const recorded = recordLeaving(deps, ORDER)
  await clock.advance(60_000)
  expect(await disk.memory.stat(leavingFile(dir))).toBeUndefined()
  disk.isFull = false
  await clock.advance(5_000)
  await recorded
  expect(await readLeaving(deps)).toEqual(ORDER)
})

test('F47 an agent that stops meanwhile gives up', async () => {
  const { disk, clock, stop, deps } = host()
  disk.isFull = true
  const recorded = recordLeaving(deps, ORDER).then(
    () => 'saved',
    () => 'stopped',
  )
  await clock.advance(5_000)
  stop.abort(new Error('the agent stops'))
  expect(await recorded).toBe('stopped')
})

test('F47 a disk that fills up while components are handed back delays the last report, and does not end the way out', async () => {
  const { disk, clock, deps } = host()
  await recordLeaving(deps, ORDER)
  let reports = 0
  let areOff = false
  const report = (): Promise<void> => {
    reports++
    disk.isFull = true
    return Promise.resolve()
  }
  const left = leave({ ...deps, areComponentsOff: () => areOff, report }, ORDER)
  await clock.advance(1_000)
  disk.isFull = true
  areOff = true
  await clock.advance(60_000)
  expect([reports, (await readLeaving(deps))?.phase]).toEqual([0, 'Components'])
  disk.isFull = false
  await clock.advance(5_000)
  expect([reports, (await readLeaving(deps))?.phase]).toEqual([1, 'Report'])
  disk.isFull = false
  await clock.advance(5_000)
  await left
  expect([reports, (await readLeaving(deps))?.phase]).toEqual([1, 'Host'])
})

test('F47 a file that a person put in place of one of a component outlives the agent, from each time that the host was managed', async () => {
  const files = new MemoryFiles()
  const found = `${foreignFolder(dir, 'kubelet')}/000001-config.yaml`
  const saved = '/var/backups/kubenode/kubelet/changed/000001-config.yaml'
  await writeDurably(files, found, 'by a person')
  expect([await saveOriginals({ files, dir }), await saveOriginals({ files, dir })]).toEqual([[saved], [saved]])
  await writeDurably(files, found, 'by another one')
  expect(await saveOriginals({ files, dir })).toEqual([`${saved}.1`])
  const text = async (path: string) => (await files.read(`/node/root${path}`))?.toString()
  expect([await text(saved), await text(`${saved}.1`)]).toEqual(['by a person', 'by another one'])
})
