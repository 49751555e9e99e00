import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { evaluate, valuesAt } from './jsonpath.ts'
import { TemplateProblem, parsePath, parseTemplate } from './jsonpath-parse.ts'

const machine = (name: string, generation: number, ready?: string) => ({
  kind: 'Machine',
  metadata: { name, generation, labels: { 'kubenode.io/pool': 'workers', app: 'a b' } },
  status: { phase: 'Ready', conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready }] },
  isOn: true,
  none: null,
})
const LIST = { kind: 'List', items: [machine('m-1', 1, 'True'), machine('m-2', 3)] }

// Each answer is that of kubectl 1.36 on the same list.
describe('a template', () => {
  test.each([
    ['{.items[*].metadata.name}', 'm-1 m-2'],
    ['{.items..name}', 'm-1 m-2'],
    ['{range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}', 'm-1\tReady\nm-2\tReady\n'],
    ['{range .items[*]}{.metadata.name} {end}', 'm-1 m-2 '],
    ['{.items[-1].metadata.name}', 'm-2'],
    ['{.items[0:1].metadata.name}', 'm-1'],
    ['{.items[::2].metadata.name}', 'm-1'],
    ['{.items[0,1].metadata.name}', 'm-1 m-2'],
    ["{.items[0]['metadata','status'].name}", 'm-1'],
    ['{.items[0].metadata.labels.kubenode\\.io/pool}', 'workers'],
    ["{.items[0].metadata.labels['kubenode.io/pool']}", 'workers'],
    ['{.items[0].nope.deeper}', ''],
    ['{.items[*].status.conditions[?(@.type=="Ready")].status}', 'True'],
    ["{.items[?(@.metadata.name=='m-2')].metadata.generation}", '3'],
    ['{.items[?(@.metadata.generation>1)].metadata.name}', 'm-2'],
    ['{.items[?(@.metadata.generation<=1)].metadata.name}', 'm-1'],
    ['{.items[?(@.metadata.name!="m-2")].metadata.name}', 'm-1'],
    ['{.items[?(@.isOn==true)].metadata.name}', 'm-1 m-2'],
    ['{.items[?(@.status.conditions[0].nope)].metadata.name}', ''],
    ['{.items[0].metadata.labels}', '{"kubenode.io/pool":"workers","app":"a b"}'],
    ['x{.kind}y', 'xListy'],
    ['{.kind}{" "}{$.kind}{" "}{@.kind}', 'List List List'],
    ['.items', '.items'],
    ['', ''],
  ])('%s', (template, want) => {
    const list = template.includes('nope)') ? { items: [] } : LIST
    expect(evaluate(parseTemplate(template), list)).toBe(want)
  })

  test.each([
    '{.items[0',
    '{.items[}',
    '{nope}',
    '{.items[*]',
    '{end}',
    '{range .items[*]}x',
    '{.items[?(@.a==)]}',
    '{.items[a]}',
    '{.items[0:1:0]}',
    `{${'.a'.repeat(5_000)}}`,
  ])('%.30s cannot be read, and the problem says where', (template) => {
    expect(() => parseTemplate(template)).toThrow(TemplateProblem)
  })

  test('an entry that is not there is an error, as kubectl has it', () => {
    expect(() => evaluate(parseTemplate('{.items[5].kind}'), LIST)).toThrow(/index 5 is out of range.* 2 entries/)
  })

  test('what every object inherits is not one of its fields', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      expect(evaluate(parseTemplate(`{.${name}}{['${name}']}`), {})).toBe('')
  })

  test('any text is read or refused by a problem, never by another error', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '.',
      '..',
      '[',
      ']',
      '?(',
      '@',
      '==',
      '"',
      "'",
      '\\',
      'a',
      '1',
      ':',
      ',',
      '*',
      'range ',
      'end',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (words) => {
        try {
          evaluate(parseTemplate(words.join('')), LIST)
        } catch (e) {
          if (!(e instanceof TemplateProblem)) throw e
        }
      }),
    )
  })
})

test.each([
  ['.metadata.name', ['m-1']],
  ['metadata.name', ['m-1']],
  ['{.metadata.name}', ['m-1']],
  ['.status.conditions[?(@.type=="Ready")].status', ['True']],
  ['.nope', []],
])('the path of a column %s', (path, want) => expect(valuesAt(parsePath(path), LIST.items[0])).toEqual(want))

test.each(['{.a}{.b}', '', '{"text"}'])('%j is not a path', (path) =>
  expect(() => parsePath(path)).toThrow(TemplateProblem),
)

test('an index that does not end names the bracket that is missing', () => {
  expect(() => parseTemplate('{.items[0')).toThrow(/^"]" is missing at the end$/)
  expect(() => parseTemplate('{.items[0 1]}')).toThrow(/^"]" is missing at "1]}"$/)
})
