import { expect, test } from 'vitest'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { currentLink, nodeDir } from '../node-dir.ts'
import type { Processes } from '../supervise/port.ts'
import { restore } from './hand-back.ts'

const UNIT = '/etc/systemd/system/lamp.service'

test('F47 a unit that a component brought is stopped and disabled while its file is there', async () => {
  const dir = nodeDir('/node', '/')
  const files = new MemoryFiles()
  await files.makeFolder('/etc/systemd/system')
  await files.link(UNIT, `${currentLink(dir, 'lamp')}/files/0/lamp.service`)
  const seen: [step: string, isThere: boolean][] = []
  const note = async (step: string): Promise<void> => {
    seen.push([step, (await files.readLink(UNIT)) !== undefined])
  }
  const processes = {
    stop: () => note('stop'),
    forget: () => note('forget'),
    release: () => note('release'),
  } as unknown as Processes
  const spec = {
    component: 'lamp',
    version: '1.0.0',
    files: [{ path: UNIT, mode: '0644', format: 'ini', template: '', onChange: 'Restart' }],
    service: { unit: 'lamp.service', restart: 'Always', killMode: 'Group' },
  } as unknown as MachineComponentSpec
  await restore({ files, dir, processes }, { component: 'lamp', slot: 'one', spec }, { restarts: false })
  expect(seen).toEqual([
    ['stop', true],
    ['forget', true],
  ])
  expect(await files.readLink(UNIT)).toBeUndefined()
})
