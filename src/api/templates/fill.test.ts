// Reads each format with a real parser: the inserted value comes out exactly, and the values next to it are unchanged.
import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { filled } from './fill.ts'
import { readTemplate, type TemplateFormat } from './placeholders.ts'

const NASTY = [
  '"',
  "'",
  '\n',
  '\r',
  '\\',
  '$(id)',
  '`id`',
  '${X}',
  '# x',
  ': y',
  '{{v}}',
  '\u2028',
  '\u0085',
  '\u007f',
  ' ',
  '%s',
  '!',
  '=',
  '[a]',
  '😀',
  '\t',
  '---\n',
  "'''",
  '"""',
]
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'grapheme', maxLength: 4 })), { maxLength: 8 })
    .map((a) => a.join('')),
)
const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
  fc.boolean(),
)

function render(template: string, format: TemplateFormat, v: unknown): string {
  const result = filled(template, format, { v } as never)
  if (result.kind === 'Refused') throw new Error(result.reason)
  return result.text
}

const wellFormed = (v: unknown) => !(typeof v === 'string') || v.isWellFormed()

test('json gives back every value, whole and inside of a string', () => {
  const template = '{"before": 1, "v": {{v}}, "s": "a{{v}}b", "l": [{{v}}], "after": 2}'
  fc.assert(
    fc.property(fc.oneof(scalar, fc.jsonValue()), (v) => {
      fc.pre(JSON.stringify(v).isWellFormed() && wellFormed(v))
      const same = JSON.parse(JSON.stringify(v)) as unknown
      const read = JSON.parse(render(template, 'json', same)) as Record<string, unknown>
      expect(Object.keys(read)).toEqual(['before', 'v', 's', 'l', 'after'])
      expect([read['v'], read['l']]).toEqual([same, [same]])
      if (typeof same === 'string') expect(read['s']).toBe(`a${same}b`)
    }),
  )
})

test('yaml gives back every value, whole and inside of a string', () => {
  const template = 'before: 1\nv: {{v}} # why\ns: "a{{v}}b"\nl:\n  - {{v}}\n  - k: {{v}}\nafter: 2\n'
  fc.assert(
    fc.property(scalar, (v) => {
      fc.pre(wellFormed(v))
      for (const version of ['1.1', '1.2'] as const) {
        const read = parse(render(template, 'yaml', v), { version }) as Record<string, unknown>
        expect(read).toEqual({
          before: 1,
          v,
          s: typeof v === 'string' ? `a${v}b` : read['s'],
          l: [v, { k: v }],
          after: 2,
        })
      }
    }),
  )
})

/** Batched: starting the reader costs more than reading. */
function readAll<T>(
  arbitrary: fc.Arbitrary<T>,
  command: readonly string[],
  input: (values: readonly T[]) => string,
): readonly (readonly [T, unknown])[] {
  const values = fc.sample(arbitrary, 300)
  const [file = '', ...args] = command
  const { stdout, stderr, error } = spawnSync(file, args, {
    input: input(values),
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  if (error !== undefined) throw error
  expect(stderr).toBe('')
  const read = JSON.parse(stdout) as readonly unknown[]
  return values.map((v, i) => [v, read[i]] as const)
}

const python = spawnSync('python3', ['-c', 'import tomllib'], { stdio: 'ignore' }).status === 0

describe('with the readers of Python', () => {
  beforeEach((context) => {
    if (!python) context.skip('this machine has no python3 with tomllib')
  })

  test('toml gives back every value, whole, in a list and inside of a string', () => {
    const template = 'before = 1\nv = {{v}} # why\ns = "a{{v}}b"\nl = [{{v}}, "x"]\n[t]\n"k k".w = {{v}}\nafter = 2\n'
    const program = 'import sys,json,tomllib\nprint(json.dumps([tomllib.loads(t) for t in json.load(sys.stdin)]))'
    const seen = readAll(scalar.filter(wellFormed), ['python3', '-c', program], (all) =>
      JSON.stringify(all.map((v) => render(template, 'toml', v))),
    )
    for (const [v, read] of seen) {
      const s = (read as { s: string }).s
      expect(read).toEqual({
        before: 1,
        v,
        s: typeof v === 'string' ? `a${v}b` : s,
        l: [v, 'x'],
        t: { 'k k': { w: v }, after: 2 },
      })
    }
  })

  test('ini gives back every value that it does not refuse', () => {
    const template = '[one]\nbefore = 1\nv = a{{v}}\nafter = 2\n'
    const program =
      'import sys,json,configparser\nout=[]\nfor t in json.load(sys.stdin):\n  c=configparser.ConfigParser(); c.read_string(t); out.append({s: dict(c[s]) for s in c.sections()})\nprint(json.dumps(out))'
    const fits = text.filter((v) => filled(template, 'ini', { v }).kind === 'Rendered')
    for (const [v, read] of readAll(fits, ['python3', '-c', program], (all) =>
      JSON.stringify(all.map((v) => render(template, 'ini', v))),
    ))
      expect(read).toEqual({ one: { before: '1', v: `a${v}`, after: '2' } })
  })
})
if (!python) process.stdout.write('no python3 with tomllib: toml and ini are not read by another program here\n')

test('shell gives back every value, as a word and in both quotes', () => {
  const template = `X=1\nset -- {{v}} "a{{v}}b" 'a{{v}}b' c{{v}} "\${X}{{v}}"; put "$@"\n`
  const start = 'put() { for a in "$@"; do printf "%s\\0" "$a"; done; }\n'
  fc.assert(
    fc.property(
      fc.array(
        text.filter((v) => !v.includes('\0') && v.isWellFormed()),
        { minLength: 20, maxLength: 40 },
      ),
      (all) => {
        const script = start + all.map((v) => render(template, 'shell', v)).join('')
        const { stdout, stderr } = spawnSync('/bin/sh', ['-s'], { input: script, encoding: 'utf8' })
        expect(stderr).toBe('')
        expect(stdout.split('\0').slice(0, -1)).toEqual(all.flatMap((v) => [v, `a${v}b`, `a${v}b`, `c${v}`, `1${v}`]))
      },
    ),
    { numRuns: 15 },
  )
})

test('plain leaves lines and everything else as they are', () => {
  fc.assert(
    fc.property(text, (v) => {
      const result = filled('a{{v}}b\nc\n', 'plain', { v })
      if (result.kind === 'Rendered') expect(result.text.split(/[\n\r\u0085\u2028\u2029]/)).toEqual([`a${v}b`, 'c', ''])
      else expect(result.reason).toMatch(/control characters|well-formed/)
    }),
  )
})

test.each<[TemplateFormat, string]>([
  ['json', '{"{{v}}": 1}'],
  ['json', '{"a": x{{v}}}'],
  ['json', '{"a": "\\{{v}}"}'],
  ['json', '{"a": "{{v}}'],
  ['toml', '{{v}} = 1'],
  ['toml', '[{{v}}]'],
  ['toml', 'a = 1{{v}}'],
  ['toml', "a = '{{v}}'"],
  ['toml', 'a = "\\{{v}}"'],
  ['toml', 'a = 1 # {{v}}'],
  ['toml', 'a = """\nb = {{v}}\n"""'],
  ['yaml', '{{v}}: 1'],
  ['yaml', 'a: x {{v}}'],
  ['yaml', "a: '{{v}}'"],
  ['yaml', 'a: |\n  b: {{v}}'],
  ['yaml', 'a: >-\n\n  x\n\n  - {{v}}'],
  ['yaml', 'a: b\n  - {{v}}'],
  ['yaml', 'a: "x\n  b: {{v}}\n  "'],
  ['yaml', 'a: &{{v}} x'],
  ['yaml', '# {{v}}'],
  ['yaml', 'a: [{{v}}]'],
  ['ini', '[{{v}}]'],
  ['ini', '{{v}} = 1'],
  ['ini', '; {{v}} = 1'],
  ['shell', '# {{v}}'],
  ['shell', 'a=$(echo {{v}})'],
  ['shell', 'a=`echo {{v}}`'],
  ['shell', 'cat <<E\n{{v}}\nE'],
  ['shell', 'a="${X:-{{v}}}"'],
  ['shell', 'a=$((1+{{v}}))'],
  ['shell', 'a="$X{{v}}"'],
  ['shell', 'a=\\{{v}}'],
  ['shell', 'a=${{v}}'],
])('%s: no value can stand in %j', (format, template) => {
  expect(readTemplate(template, format)).toMatchObject({ ok: false })
})

test('a template with placeholders and without a format is refused, another one comes out as it is', () => {
  expect(filled('{{v}}', undefined, { v: 1 })).toEqual({ kind: 'Refused', reason: 'its template declares no format' })
  expect(filled('as it is\n', undefined, {})).toEqual({ kind: 'Rendered', text: 'as it is\n' })
})

const values = { name: 'b', port: 80, on: true, list: ['x', { y: 'z' }], deep: { a: { b: '{{name}}' } }, nothing: null }

test.each([
  ['port = {{port}}', 'port = 80'],
  ['{{ name }}-{{name}}', 'b-b'],
  ['{{list.0}} {{list.1.y}} {{on}} {{nothing}}', 'x z true null'],
  ['{{deep.a.b}}', '{{name}}'],
  ['{{list}}', '["x",{"y":"z"}]'],
  ['no {placeholder} {{two words}} $& $1', 'no {placeholder} {{two words}} $& $1'],
])('%s becomes %s', (template, text) => {
  expect(filled(template, 'plain', values)).toEqual({ kind: 'Rendered', text })
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
  expect(filled(template, 'plain', values).kind).toBe('Refused')
})

test('a template without placeholders comes out as it is', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes('{{'))
      expect(filled(text, 'plain', values)).toEqual({ kind: 'Rendered', text })
    }),
  )
})
