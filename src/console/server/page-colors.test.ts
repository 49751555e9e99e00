// The page's colors of states and of versions can be told apart with every color vision.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { distance, VISIONS } from '#test/support/console/color-vision.ts'

const CSS = readFileSync(join(import.meta.dirname, '../page/page.css'), 'utf8')
const TONES = ['good', 'busy', 'wait', 'bad', 'mend', 'still', 'rest'] as const
/** Six times what is just noticeable. */
const LEAST = 15

/** The block of rules that begins with this selector. */
function tonesIn(selector: string): Readonly<Record<string, string>> {
  const from = CSS.indexOf(`${selector} {`)
  const block = CSS.slice(from, CSS.indexOf('}', from))
  return Object.fromEntries(
    [...block.matchAll(/--(\w+): (#[0-9a-f]{6});/g)].map(([, name = '', hex = '']) => [name, hex]),
  )
}

const LIGHT = tonesIn(':root')
const LOOKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  light: LIGHT,
  'dark by the system': { ...LIGHT, ...tonesIn(":root:not([data-look='light'])") },
  'dark by choice': { ...LIGHT, ...tonesIn(":root[data-look='dark']") },
}

function tooClose(colors: Readonly<Record<string, string>>, vision: string): readonly string[] {
  const all = Object.entries(colors)
  return all.flatMap(([a, x], at) =>
    all.slice(at + 1).flatMap(([b, y]) => (distance(x, y, vision) < LEAST ? [`${a} and ${b}`] : [])),
  )
}

test.each(Object.keys(VISIONS).flatMap((vision) => Object.keys(LOOKS).map((look) => [look, vision] as const)))(
  'the states look different: %s, %s',
  (look, vision) => {
    const colors = Object.fromEntries(TONES.map((t) => [t, LOOKS[look]?.[t] ?? '']))
    expect(tooClose(colors, vision)).toEqual([])
  },
)

test.each(Object.keys(VISIONS))('the versions look different: %s', (vision) => {
  const colors = Object.fromEntries(
    [...CSS.matchAll(/\.(v\d) \{\s+background: (#[0-9a-f]{6});/g)].map(([, name = '', hex = '']) => [name, hex]),
  )
  expect(Object.keys(colors)).toHaveLength(7)
  expect(tooClose(colors, vision)).toEqual([])
})

test('the distance finds colors that only full color vision tells apart', () => {
  // The usual red and green.
  expect(distance('#d62728', '#2ca02c', 'full color vision')).toBeGreaterThan(100)
  expect(distance('#a05a00', '#6b7300', 'deuteranopia')).toBeLessThan(LEAST)
})
