// The documentation site in a browser, opened from its folder as a reader opens it: its search by the keyboard, its versions, and the width of a phone.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { browserPath } from './browser-path.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** A narrow phone. */
const PHONE = { width: 360, height: 740 }
const BUILD_MS = 300_000
const path = browserPath()
const [OLD, NEW] = ['1.2.3', '1.10.0']

let all = ''
let dir = ''
let browser: Browser | undefined
beforeAll(async () => {
  if (path === undefined) return
  all = mkdtempSync(join(tmpdir(), 'kubenode-site-'))
  dir = join(all, NEW)
  const build = (folder: string) =>
    execFileSync(join(ROOT, 'bin/with-node'), ['node', 'build/site/main.ts', '--out', folder], {
      cwd: ROOT,
      stdio: 'pipe',
    })
  build(dir)
  cpSync(dir, join(all, OLD), { recursive: true })
  rmSync(join(all, OLD, 'docs/concepts.html'))
  build(dir)
  browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
}, BUILD_MS)
afterAll(async () => {
  await browser?.close()
  if (all !== '') rmSync(all, { recursive: true, force: true })
})
beforeEach((context) => {
  if (path === undefined) context.skip('no browser: install chromium-headless-shell, or name one in KUBENODE_CHROMIUM')
})

const urlOf = (file: string): string => pathToFileURL(join(dir, file)).href

async function opened(viewport = { width: 1280, height: 860 }): Promise<{ page: Page; context: BrowserContext }> {
  if (browser === undefined) throw new Error('the browser has not started')
  const context = await browser.newContext({ viewport })
  return { page: await context.newPage(), context }
}

test.each(['index.html', 'docs/tasks/index.html'])(
  'from %s a person searches with the keyboard and reads the page that was found',
  async (file) => {
    const { page, context } = await opened()
    const errors: string[] = []
    page.on('pageerror', (e) => errors.push(e.message))
    await page.goto(urlOf(file))
    await page.getByRole('searchbox').fill('a rollout stands')
    const found = page.locator('#found a').first()
    await found.waitFor()
    await page.getByRole('searchbox').press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(/three-in-the-morning\.html#/)
    expect(await page.locator(':target').textContent()).toContain('A rollout stands')
    await page.getByRole('searchbox').fill('nonsense-that-is-nowhere')
    await expect.poll(() => page.locator('#found').textContent()).toBe('nothing found')
    expect(errors).toEqual([])
    await context.close()
  },
)

test('a reader switches to the same page of another version, or to its first page where it has none', async () => {
  const { page, context } = await opened()
  for (const [from, to] of [
    ['docs/reference/machine.html', 'docs/reference/machine.html'],
    ['docs/concepts.html', 'index.html'],
  ] as const) {
    await page.goto(urlOf(from))
    await expect.poll(() => page.locator('#versions option').allTextContents()).toEqual([NEW, OLD])
    await page.locator('#versions').selectOption(OLD)
    await page.waitForURL(pathToFileURL(join(all, OLD, to)).href)
  }
  await context.close()
})

test('no page scrolls sideways on a phone', { timeout: BUILD_MS }, async () => {
  const { page, context } = await opened(PHONE)
  const wide: string[] = []
  const files = globSync('**/*.html', { cwd: dir }).toSorted()
  expect(files.length).toBeGreaterThan(30)
  for (const file of files) {
    await page.goto(urlOf(file))
    const width = await page.evaluate('document.documentElement.scrollWidth')
    if (width !== PHONE.width) wide.push(`${file}: ${String(width)}`)
  }
  expect(wide).toEqual([])
  await context.close()
})
