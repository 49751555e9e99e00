// The files of .github cannot run here: this holds them to the form that GitHub wants, and to commands that exist.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, '.github')
const read = (path: string): unknown => parse(readFileSync(join(FOLDER, path), 'utf8'))
const scripts = Object.keys(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly scripts: object }).scripts,
)

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Workflow {
  readonly name: string
  readonly on: object
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, { readonly 'timeout-minutes'?: number; readonly steps: readonly Step[] }>>
}

describe.each(readdirSync(join(FOLDER, 'workflows')))('workflow %s', (file) => {
  const workflow = read(`workflows/${file}`) as Workflow
  const jobs = Object.values(workflow.jobs)
  const steps = jobs.flatMap((job) => job.steps)

  test('may read the repository and nothing else, and ends', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' })
    for (const job of jobs) expect(job['timeout-minutes']).toBeGreaterThan(0)
    for (const step of steps.filter((s) => s.uses?.startsWith('actions/checkout@') === true))
      expect(step.with?.['persist-credentials']).toBe(false)
  })

  test('each step uses an action with its version, or runs commands', () => {
    for (const { uses, run } of steps) {
      expect([uses, run].filter((s) => s !== undefined)).toHaveLength(1)
      if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/)
    }
  })

  test('the scripts that it runs exist', () => {
    for (const { run = '' } of steps)
      for (const [, name = ''] of run.matchAll(/npm run (?:-s )?([\w:-]+)/g)) expect(scripts).toContain(name)
  })
})

test('a landing is judged by the script that everybody runs', () => {
  const { jobs } = read('workflows/ci.yml') as Workflow
  expect(Object.values(jobs).flatMap((job) => job.steps.map((step) => step.run))).toContain('bash .ci/run')
})

test('a release is built by the script that everybody runs', () => {
  const { jobs } = read('workflows/release.yml') as Workflow
  const commands = Object.values(jobs).flatMap((job) => job.steps.map((step) => step.run ?? ''))
  expect(commands.filter((run) => run.startsWith('npm run release -- --dry-run'))).toHaveLength(1)
})

interface Form {
  readonly name: string
  readonly description: string
  readonly body: readonly {
    readonly type: string
    readonly id?: string
    readonly attributes: Record<string, unknown>
  }[]
}

test.each(readdirSync(join(FOLDER, 'ISSUE_TEMPLATE')).filter((file) => file !== 'config.yml'))(
  'the form %s has what GitHub asks for',
  (file) => {
    const { name, description, body } = read(`ISSUE_TEMPLATE/${file}`) as Form
    expect(name.length * description.length).toBeGreaterThan(0)
    const ids = body.flatMap(({ id }) => id ?? [])
    expect(new Set(ids).size).toBe(ids.length)
    for (const { type, id, attributes } of body) {
      expect(['markdown', 'input', 'textarea', 'dropdown', 'checkboxes']).toContain(type)
      if (type === 'markdown') expect(attributes['value']).toBeTypeOf('string')
      else expect([id, attributes['label']].every((s) => typeof s === 'string' && s !== '')).toBe(true)
      if (type === 'dropdown') expect(attributes['options']).toBeInstanceOf(Array)
    }
  },
)
