import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPlainPath, layoutOf } from './layout.ts'
import { rendered } from './template.ts'

const values = { name: 'b', port: 80, on: true, list: ['x', { y: 'z' }], deep: { a: { b: '{{name}}' } }, nothing: null }

test.each([
  ['port = {{port}}', 'port = 80'],
  ['{{ name }}-{{name}}', 'b-b'],
  ['{{list.0}} {{list.1.y}} {{on}} {{nothing}}', 'x z true null'],
  ['{{deep.a.b}}', '{{name}}'],
  ['{{list}}', '["x",{"y":"z"}]'],
  ['no {placeholder} {{two words}} $& $1', 'no {placeholder} {{two words}} $& $1'],
])('%s becomes %s', (template, text) => {
  expect(rendered(template, values)).toEqual({ kind: 'Rendered', text })
})

test.each([
  '{{missing}}',
  '{{name.length}}',
  '{{list.length}}',
  '{{__proto__}}',
  '{{deep.constructor}}',
  '{{list.9}}',
  '{{}}',
])('%s has no value and is refused', (template) => {
  expect(rendered(template, values).kind).toBe('Refused')
})

test('a template without placeholders comes out as it is', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes('{{'))
      expect(rendered(text, values)).toEqual({ kind: 'Rendered', text })
    }),
  )
})

test('a file below the unpacked tree lies in the tree, others get a link of their own', () => {
  const file = (path: string) => ({ path, mode: '0640', template: 't', onChange: 'Restart' as const })
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
