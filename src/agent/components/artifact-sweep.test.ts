import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { artifactsFolder } from '../node-dir.ts'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { sweepArtifacts } from './artifact-sweep.ts'

test('artifacts of the version in use and the one before stay, older ones go once they are a day old', async () => {
  const publisher = newPublisher()
  const versions = ['1.0.0', '1.1.0', '1.2.0']
  const releases = versions.map((version) => release(publisher, { version }))
  const clock = new VirtualClock()
  const files = new MemoryFiles({ now: () => clock.now() })
  const node = new FakeNode({ publisher, releases, clock, disk: files })
  await node.start()
  for (const [n, version] of versions.entries()) {
    node.obey({ version, attempt: n + 1, ...(n === 0 ? {} : { switch: { attempt: n + 1, permit: 'p' } }) })
    await clock.advance(60_000)
  }
  const kept = () => files.list(artifactsFolder(node.dir))
  const shas = releases.map((r) => r.spec.artifacts?.[0]?.sha256 ?? '')
  await sweepArtifacts({ files, dir: node.dir, clock })
  expect(await kept()).toEqual(shas.toSorted())
  await clock.advance(25 * 3_600_000)
  await sweepArtifacts({ files, dir: node.dir, clock })
  expect(await kept()).toEqual(shas.slice(1).toSorted())
  await node.worker.close()
})
