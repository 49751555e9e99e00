// One person at the page of the console, who has a keyboard and no pointer: opens the link that the start printed, walks the views, writes holds and approvals.
import { type Browser, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { browserPath } from '#test/browser/browser-path.ts'

/** Where there is no browser, chapters at the page are skipped with this reason. */
export const NO_BROWSER = 'no browser: install chromium-headless-shell, or name one in KUBENODE_CHROMIUM'

/** More rows or fields than any view of so small a fleet has. */
const MOST_STEPS = 200

export class AtThePage {
  readonly #browser: Browser
  readonly page: Page
  /** Errors of scripts and reports of the content policy. */
  readonly errors: string[] = []

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser
    this.page = page
    page.on('pageerror', (e) => this.errors.push(e.message))
    page.on('console', (m) => /Content Security Policy|TrustedHTML/.test(m.text()) && this.errors.push(m.text()))
  }

  /** `patienceMs`: how long a view may take to show what is waited for. */
  static async open(link: string, patienceMs: number): Promise<AtThePage | undefined> {
    const executablePath = browserPath()
    if (executablePath === undefined) return undefined
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    const page = await browser.newPage({ timezoneId: 'UTC', locale: 'en-US' })
    page.setDefaultTimeout(patienceMs)
    const person = new AtThePage(browser, page)
    await page.goto(link)
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    return person
  }

  /** `g` and a key. */
  async view(key: string, heading: string | RegExp): Promise<void> {
    await this.page.keyboard.press('g')
    await this.page.keyboard.press(key)
    await this.page.getByRole('heading', { name: heading, level: 1 }).waitFor()
  }

  /** Finds an object by a part of its name and opens the first one whose address begins so. */
  async find(name: string, address: string): Promise<void> {
    await this.page.keyboard.press('/')
    await this.page.getByRole('heading', { name: 'Search', level: 1 }).waitFor()
    await this.page.keyboard.press('Control+a')
    await this.page.keyboard.type(name)
    await this.page.locator(`main a[href^="${address}"]`).first().waitFor()
    await this.page.keyboard.press('Escape')
    await this.openRow(address)
  }

  /** In the list of clusters of a view. */
  async choose(cluster: string): Promise<void> {
    await this.#pressUntil('Tab', `document.activeElement?.tagName === 'SELECT'`, 'the list of clusters')
    await this.page.keyboard.type(cluster)
    await this.page.getByRole('heading', { name: new RegExp(` ${cluster}$`), level: 1 }).waitFor()
  }

  /** `j` down to the row whose address begins so, and Enter. */
  async openRow(address: string): Promise<void> {
    await this.#pressUntil(
      'j',
      `document.activeElement?.getAttribute('href')?.startsWith(${JSON.stringify(address)}) === true`,
      address,
    )
    await this.page.keyboard.press('Enter')
  }

  /** Tab to the link or button with these words, and Enter. */
  async press(words: string): Promise<void> {
    await this.#pressUntil('Tab', `document.activeElement?.textContent?.trim() === ${JSON.stringify(words)}`, words)
    await this.page.keyboard.press('Enter')
  }

  async #pressUntil(key: string, condition: string, what: string): Promise<void> {
    for (let step = 0; step < MOST_STEPS; step++) {
      if (await this.page.evaluate<boolean>(condition)) return
      await this.page.keyboard.press(key)
    }
    throw new Error(`${key} does not reach ${what} in:\n${await this.text()}`)
  }

  /** Fills the form that a button opens; the end is the one that the form proposes. Answers with the name of what was written. */
  async write(button: string, reason: string): Promise<string> {
    await this.press(button)
    const form = this.page.getByRole('dialog')
    await form.waitFor()
    await this.#pressUntil('Tab', `document.activeElement?.getAttribute('name') === 'reason'`, 'the reason')
    await this.page.keyboard.type(reason)
    expect(await form.getByLabel('Ends').inputValue()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d/)
    await this.page.keyboard.press('Enter')
    await form.getByRole('heading', { name: 'Created' }).waitFor()
    const name = await form.locator('p code').first().innerText()
    await this.page.keyboard.press('Escape')
    await form.waitFor({ state: 'detached' })
    return name
  }

  /** Lifts a hold that the view shows. */
  async lift(name: string): Promise<void> {
    await this.#pressUntil('Tab', `document.activeElement?.getAttribute('aria-label') === 'Lift ${name}'`, 'Lift')
    await this.page.keyboard.press('Enter')
    const question = this.page.getByRole('alertdialog')
    await question.waitFor()
    await this.press('Lift')
    await question.waitFor({ state: 'detached' })
  }

  /** What the view says. */
  text(): Promise<string> {
    return this.page.locator('main').innerText()
  }

  async shows(...parts: readonly (string | RegExp)[]): Promise<void> {
    for (const part of parts) await this.page.locator('main').getByText(part).first().waitFor()
  }

  async close(): Promise<void> {
    await this.#browser.close()
  }
}
