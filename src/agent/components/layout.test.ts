import { expect, test } from 'vitest'
import { isPlainPath, layoutOf } from './layout.ts'

test('a file below the unpacked tree lies in the tree, others get a link of their own', () => {
  const file = (path: string) => ({
    path,
    mode: '0640',
    format: 'plain' as const,
    template: 't',
    onChange: 'Restart' as const,
  })
  const layout = layoutOf({
    install: { unpack: { path: '/opt/b', strip: 0 } },
    files: [file('/opt/b/etc/c.json'), file('/etc/b.conf'), file('/opt/bb')],
  })
  expect(layout.files.map((f) => [f.inSlot, f.mode])).toEqual([
    ['tree/etc/c.json', 0o640],
    ['files/1/b.conf', 0o640],
    ['files/2/bb', 0o640],
  ])
  expect(layout.links).toEqual([
    { path: '/opt/b', inSlot: 'tree' },
    { path: '/etc/b.conf', inSlot: 'files/1/b.conf' },
    { path: '/opt/bb', inSlot: 'files/2/bb' },
  ])
})

test.each([
  ['/opt/b', true],
  ['/', false],
  ['opt', false],
  ['/opt/../etc', false],
  ['/opt//b', false],
  ['/opt/b/', false],
])('the path %s may be made a link: %s', (path, isGood) => {
  expect(isPlainPath(path)).toBe(isGood)
})
