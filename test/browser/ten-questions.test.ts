// Ten questions of people who operate a fleet, each answered from Home in a counted number of steps: a key, a click, a choice in a list, or a word that is typed.
// It measures the way to the answer and that the answer is there in words. It does not measure how long a person takes to see it: no person was timed.
import { afterAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { settled } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

/** Drives the page as a person does, and counts. */
class Person {
  readonly page: Page
  steps = 0

  constructor(page: Page) {
    this.page = page
  }

  async keys(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.page.keyboard.press(key)
      this.steps++
    }
    await settled(this.page)
  }

  async click(role: 'link' | 'button', name: string | RegExp): Promise<void> {
    await this.page.locator('main').getByRole(role, { name }).first().click()
    this.steps++
    await settled(this.page)
  }

  async choose(label: string, option: string): Promise<void> {
    await this.page.getByLabel(label).first().selectOption(option)
    this.steps++
    await settled(this.page)
  }

  /** In the palette; a word is one step. */
  async find(word: string): Promise<void> {
    await this.keys('k')
    await this.page.getByRole('dialog').getByRole('combobox').fill(word)
    this.steps++
    await this.page.getByRole('option', { name: new RegExp(`^${word}`) }).waitFor()
    await this.keys('Enter')
  }

  reads(text: string | RegExp): Promise<void> {
    return this.page.locator('main').getByText(text).first().waitFor()
  }
}

interface Question {
  readonly most: number
  readonly way: (person: Person) => Promise<void>
  readonly answer: string | RegExp
}

const QUESTIONS: Readonly<Record<string, Question>> = {
  'Does anything need attention?': { most: 0, way: async () => {}, answer: '2 things need attention' },
  'Who wrote the commit that fails?': { most: 0, way: async () => {}, answer: 'by Eve' },
  'What does the failed commit stop?': { most: 0, way: async () => {}, answer: 'stage prod' },
  'Why does prod wait?': { most: 2, way: (p) => p.keys('g', 'p'), answer: 'stage test must succeed first' },
  'Which nodes have beacon 1.2.0?': {
    most: 3,
    way: async (p) => {
      await p.keys('g', 'f')
      await p.click('link', 'beacon 1.2.0')
    },
    answer: '2 of 7 machines: 1.2.0',
  },
  'When does the rollout of base in prod end?': {
    most: 3,
    way: async (p) => {
      await p.keys('g', 'r')
      await p.click('link', 'prod')
    },
    answer: 'until 12:31',
  },
  'Which machine switches next, and why?': {
    most: 3,
    way: async (p) => {
      await p.keys('g', 'r')
      await p.click('link', 'prod')
    },
    answer: 'zone-b, rack-1',
  },
  'Why is n-3 unwell?': { most: 3, way: (p) => p.find('n-3'), answer: 'blocked for more than 120 seconds' },
  'What may not be disrupted now, and until when?': {
    most: 3,
    way: async (p) => {
      await p.keys('g', 'b')
      await p.choose('Cluster', 'prod')
    },
    answer: 'in 3m',
  },
  'Who approved the change of machines?': { most: 2, way: (p) => p.keys('g', 'p'), answer: 'bo@example.org' },
}

/** Of each question the steps that were taken: what people read of this test. */
const taken: string[] = []
afterAll(() => void process.stdout.write(`${taken.join('\n')}\n`))

test.each(Object.entries(QUESTIONS))('%s', async (question, { most, way, answer }) => {
  bench.server.hits = {
    hits: [{ cluster: 'prod', kind: 'Machine', name: 'n-3', text: 'Repairing' }],
    isTruncated: false,
  }
  const { session } = bench.server
  const [{ topics } = { topics: [] }] = session.clusters
  bench.server.session = { ...session, clusters: session.clusters.map((c) => ({ ...c, topics })) }
  const page = await bench.open('#/home')
  await settled(page)
  const person = new Person(page)
  await way(person)
  await person.reads(answer)
  taken.push(`${person.steps} steps  ${question}`)
  expect(person.steps).toBeLessThanOrEqual(most)
})
