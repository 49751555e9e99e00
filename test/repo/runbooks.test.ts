// Every condition, reason and alert leads to a runbook that exists, begins with the two commands to type, and says what to do.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ALERT_RUNBOOKS, CONDITIONS, REASONS, RUNBOOKS, runbookPath } from '#api/catalogue.ts'

const root = join(import.meta.dirname, '../..')

interface Alerts {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly annotations: { readonly runbook: string } }[]
  }[]
}
const { groups } = parse(readFileSync(join(root, 'deploy/alerts/kubenode.rules.yaml'), 'utf8')) as Alerts
/** Rules that compute something beforehand are no alerts. */
const alerts = groups.flatMap((g) => g.rules).filter((r) => 'alert' in r)
const ALL = [...RUNBOOKS, ...ALERT_RUNBOOKS]

/** Read only: a person types them before anything is changed. That the commands and options exist is tested for every page. */
const READS = /^(kubenode (get|why|why-not|describe|lint|rollout history) |kubectl (-n \S+ )?get )/

describe.each(ALL.map((r) => [r] as const))('the runbook %s', (runbook) => {
  const path = join(root, runbookPath(runbook))
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''

  test('begins with the two commands to type, which only read', () => {
    const [, commands = ''] = /^# .+\n\n(?:On the hub:\n\n)?```sh\n([\s\S]*?)```\n/.exec(text) ?? []
    const lines = commands.split('\n').slice(0, -1)
    expect(lines).toEqual([expect.stringMatching(READS), expect.stringMatching(READS)])
  })

  test('has the meaning and what to do, and what to look at after that', () => {
    const headings = [...text.matchAll(/^## (.+)$/gm)].map((m) => m[1])
    expect(['What it means|What to do', 'What it means|What to do|Look further']).toContain(headings.join('|'))
  })

  test('names every alert that leads to it, and no other', () => {
    const leading = alerts.filter((a) => a.annotations.runbook === runbookPath(runbook)).map((a) => a.alert)
    expect((text.match(/KubeNode[A-Z]\w+/g) ?? []).toSorted()).toEqual(leading.toSorted())
  })

  test('names every reason that leads to it', () => {
    const reasons = Object.entries(REASONS).filter(([, e]) => e.runbook === runbook)
    expect(reasons.map(([r]) => r).filter((r) => !text.includes(`\`${r}\``))).toEqual([])
  })
})

test('every alert leads to a runbook', () => {
  const known: readonly string[] = ALL.map(runbookPath)
  expect(alerts.length).toBeGreaterThan(0)
  expect(alerts.filter((a) => !known.includes(a.annotations.runbook)).map((a) => a.alert)).toEqual([])
})

test('every runbook is reached from a condition or a reason', () => {
  const reached = new Set([...Object.values(CONDITIONS), ...Object.values(REASONS)].map((e) => e.runbook))
  expect(RUNBOOKS.filter((r) => !reached.has(r))).toEqual([])
})

test('nothing else lies among the runbooks', () => {
  const known = new Set(ALL.map((r) => `${r}.md`))
  expect(readdirSync(join(root, 'docs/operations/runbooks')).filter((f) => !known.has(f) && f !== 'README.md')).toEqual(
    [],
  )
})
