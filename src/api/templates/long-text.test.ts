import { expect, test } from 'vitest'
import { readTemplate, TEMPLATE_FORMATS, type TemplateFormat } from './placeholders.ts'

const CHARS = 400_000

// Quadratic parsing would take minutes for each of the first ones.
test.each<[string, string, string]>([
  ['an opened placeholder before spaces', '{{', ' '],
  ['a string that never ends', '{{a}} "', '\\"'],
  ['spaces', '{{a}} x: ', ' '],
  ['quotes', '{{a}} ', '"'],
])('S12 %s is read in linear time', (_, before, piece) => {
  const text = before + piece.repeat(CHARS / piece.length)
  for (const format of TEMPLATE_FORMATS) expect(typeof readTemplate(`${text}!`, format).ok).toBe('boolean')
})

test.each<[TemplateFormat, string, boolean]>([
  ['json', '{"a": "{{ x }}", "b": "\\""}', true],
  ['json', '{"a": "{{x}}\\"', false],
  ['json', '{"a\\"b{{x}}": 1}', false],
  ['yaml', 'k: "a # b\nx: {{x}}', false],
  ['yaml', 'k: a # it is "open\nx: {{x}}', true],
  ['yaml', 'k: "a \\" b"\nx: {{x}}', true],
  ['plain', '{{}} {{  }} {{ a.b }}', true],
])('%s %j is read as before', (format, text, ok) => {
  expect(readTemplate(text, format).ok).toBe(ok)
})
