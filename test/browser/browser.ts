// The browser of these tests: found by variable or path. Where there is none, tests are skipped with the reason.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { TestContext } from 'vitest'
import { FixtureServer } from '#test/support/console/fixture-server.ts'

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

function browserPath(): string | undefined {
  const named = process.env['KUBENODE_CHROMIUM']
  if (named !== undefined && named !== '') return named
  const places = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const path = browserPath()

/** The moment of the fixtures. */
export const NOW = Date.parse('2026-01-31T12:00:00Z')

interface Opening extends BrowserContextOptions {
  /** The clock of the browser stays at the moment of the fixtures. */
  readonly isStill?: boolean
}

export interface Bench {
  readonly server: FixtureServer
  /** A page in a context of its own; what the page reports as an error is collected. */
  readonly open: (hash: string, options?: Opening) => Promise<Page>
  readonly browser: () => Browser
  /** Errors of scripts and reports of the content policy, of all pages. */
  readonly errors: string[]
}

export function useBench(): Bench {
  const errors: string[] = []
  const bench = { server: new FixtureServer(), errors }
  let browser: Browser | undefined
  beforeAll(async () => {
    if (path !== undefined) browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())
  beforeEach(async (context: TestContext) => {
    if (path === undefined)
      context.skip('no browser: install chromium-headless-shell, or name one in KUBENODE_CHROMIUM')
    errors.length = 0
    bench.server = new FixtureServer()
    await bench.server.start()
  })
  afterEach(async () => {
    for (const context of browser?.contexts() ?? []) await context.close()
    if (path !== undefined) await bench.server.stop()
  })
  const current = (): Browser => {
    if (browser === undefined) throw new Error('the browser has not started')
    return browser
  }
  const open = async (hash: string, { isStill = true, ...options }: Opening = {}): Promise<Page> => {
    const context = await current().newContext({
      viewport: { width: 1280, height: 860 },
      timezoneId: 'UTC',
      locale: 'en-US',
      ...options,
    })
    context.on('weberror', (e) => errors.push(e.error().message))
    context.on('console', (m) => /Content Security Policy|TrustedHTML/.test(m.text()) && errors.push(m.text()))
    const page = await context.newPage()
    if (isStill) await page.clock.setFixedTime(NOW)
    await page.goto(`${bench.server.url}/${hash}`)
    return page
  }
  return {
    ...bench,
    get server() {
      return bench.server
    },
    open,
    browser: current,
  }
}
