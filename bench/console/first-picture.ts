// How soon a browser that knows nothing of the page yet shows all machines of a cluster.
import { chromium, type Page } from 'playwright-core'
import { systemClock } from '#lib/system-clock.ts'
import { browserPath } from '#test/browser/browser-path.ts'
import { median } from '../result.ts'

const MOST_MS = 120_000

export interface Pictures {
  readonly firstMs: number
  /** The longest task of the page until then, of the middle round. */
  readonly longestTaskMs: number
}

/** As someone who is signed in: a link opens the console once. Undefined, with the reason printed, where there is no browser. */
export async function firstPicture(
  { origin, cookies, rounds }: { readonly origin: string; readonly cookies: string; readonly rounds: number },
  cluster: string,
  machines: number,
): Promise<Pictures | undefined> {
  const path = browserPath()
  if (path === undefined) {
    console.error(
      'first picture: not measured, no browser: install chromium-headless-shell, or name one in KUBENODE_CHROMIUM',
    )
    return undefined
  }
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
  try {
    const text = `${machines.toLocaleString('en')} machine`
    // A few machines would be cards.
    const url = `${origin}/#/machines/${cluster}?draw=map`
    const session = cookies.split('; ').map((cookie) => {
      const [name = '', ...value] = cookie.split('=')
      return { name, value: value.join('='), url: origin }
    })
    const taken: number[] = []
    const longest: number[] = []
    for (let round = 0; round < rounds; round++) {
      // A context has a cache of its own, which is empty.
      const context = await browser.newContext()
      await context.addCookies(session)
      const page = await context.newPage()
      await page.addInitScript(`const TEXT = ${JSON.stringify(text)}${WATCH}`)
      await page.goto(url)
      taken.push(await shownAt(page))
      longest.push(Number(await page.evaluate('window.longest')))
      await context.close()
    }
    console.error(`first pictures in ms: ${taken.map(Math.round).join(', ')}`)
    return { firstMs: median(taken), longestTaskMs: median(longest) }
  } finally {
    await browser.close()
  }
}

/** Runs in the page, whose policy lets nothing be evaluated later; its clock began with its navigation. */
const WATCH = `
  window.longest = 0
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration)
  }).observe({ type: 'longtask', buffered: true })
  const look = () => {
    const isDrawn = document.querySelector('.map-field canvas')?.width > 0
    if (isDrawn && document.querySelector('main').textContent.includes(TEXT)) window.shownAt = performance.now()
    else requestAnimationFrame(look)
  }
  look()`

async function shownAt(page: Page): Promise<number> {
  const end = performance.now() + MOST_MS
  while (performance.now() < end) {
    const at = await page.evaluate<number | null>('window.shownAt ?? null')
    if (at !== null) return at
    await systemClock.sleep(50)
  }
  throw new Error(`the page does not show the machines within ${MOST_MS / 1_000} s`)
}
