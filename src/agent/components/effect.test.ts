import { expect, test } from 'vitest'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { writeDurably } from '../files/durable.ts'
import { nodeDir, slotFolder } from '../node-dir.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { effectOf, switchEffect } from './effect.ts'

test.each([
  [[], undefined, 'None'],
  [['None'], undefined, 'None'],
  [['None', 'Reload'], 'SIGHUP', 'Reload'],
  [['Reload'], undefined, 'Restart'],
  [['Reload', 'Restart', 'None'], 'SIGHUP', 'Restart'],
] as const)('changed files that ask for %j, with the signal %s: %s', (changes, signal, effect) =>
  expect(effectOf(changes, signal)).toBe(effect),
)

const dir = nodeDir('/node')
const publisher = newPublisher()
const file = (name: string, onChange: 'Restart' | 'Reload' | 'None') => ({
  path: `/etc/${name}`,
  mode: '0644',
  format: 'plain' as const,
  template: '{{v}}',
  onChange,
})
const spec = {
  service: { exec: '/opt/beacon/x', restart: 'Always', killMode: 'Process', reloadSignal: 'SIGHUP' },
  files: [file('a', 'Restart'), file('b', 'Reload'), file('c', 'None')],
}
const [one, two] = ['1.0.0', '1.1.0'].map((version) => release(publisher, { version, spec }).spec)

/** Two slots whose files a, b, c have these texts. */
async function slots(from: string, to: string) {
  const files = new MemoryFiles()
  for (const [id, texts] of [
    ['aaaaaaaaaaaaaaaa-0', from],
    ['bbbbbbbbbbbbbbbb-0', to],
  ] as const)
    for (const [n, text] of [...texts].entries())
      await writeDurably(files, `${slotFolder(dir, 'beacon', id)}/files/${n}/${'abc'[n]}`, text)
  return { files, dir }
}

test.each([
  ['nothing', '111', 'None'],
  ['what asks for a restart', '211', 'Restart'],
  ['what asks to be read again', '121', 'Reload'],
  ['a file that is read at each use', '112', 'None'],
  ['two', '122', 'Reload'],
] as const)('of one version, when %s has changed', async (_what, to, effect) => {
  if (one === undefined) throw new Error('no release')
  const a = { id: 'aaaaaaaaaaaaaaaa-0', spec: one }
  const b = { id: 'bbbbbbbbbbbbbbbb-0', spec: one }
  expect(await switchEffect(await slots('111', to), 'beacon', a, b)).toBe(effect)
})

test('another version, a first one and a fresh copy are always started', async () => {
  if (one === undefined || two === undefined) throw new Error('no release')
  const deps = await slots('111', '111')
  const a = { id: 'aaaaaaaaaaaaaaaa-0', spec: one }
  expect([
    await switchEffect(deps, 'beacon', undefined, a),
    await switchEffect(deps, 'beacon', a, { id: 'bbbbbbbbbbbbbbbb-0', spec: two }),
    await switchEffect(deps, 'beacon', a, { id: 'aaaaaaaaaaaaaaaa-1', spec: one }),
  ]).toEqual(['Restart', 'Restart', 'Restart'])
})
