// The alert rules: Prometheus can load them, they fire as intended, and link to a runbook.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'deploy/alerts')
const RULES = 'kubenode.rules.yaml'
const TESTS = 'kubenode.rules.test.yaml'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}
const read = (file: string): unknown => parse(readFileSync(join(FOLDER, file), 'utf8'))
const { groups } = read(RULES) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
const all = groups.flatMap((g) => g.rules)
/** The others compute something beforehand. */
const rules = all.filter((r) => 'alert' in r)

describe.each(rules.map((r) => [r.alert, r] as const))('alert %s', (_, { labels, annotations }) => {
  test('says what is the matter, where to look, how urgent it is, and which runbook helps', () => {
    expect(['page', 'ticket']).toContain(labels['severity'])
    expect(annotations['summary'] ?? '').not.toBe('')
    expect(annotations['look'] ?? '').not.toBe('')
    expect(existsSync(join(ROOT, annotations['runbook'] ?? ''))).toBe(true)
  })
})

test('what should never go unnoticed has a rule and a test of it', () => {
  const tested = new Set(JSON.stringify(read(TESTS)).match(/KubeNode[A-Za-z]+/g))
  const needed = [
    'KubeNodeRolloutStuck',
    'KubeNodeRevisionBlocked',
    'KubeNodeMachineLost',
    'KubeNodeManyAgentsSilent',
    'KubeNodeNothingPermitted',
    'KubeNodeBreakerOpen',
    'KubeNodeAdmissionPoliciesAltered',
    'KubeNodePlaceFails',
    'KubeNodeLadderExhausted',
    'KubeNodePermitsDenied',
    'KubeNodeNotificationsFail',
    'KubeNodeMaintenanceMissed',
    'KubeNodeMaintenanceOverrun',
    'KubeNodeMaintenanceFailed',
    'KubeNodeBillUnpaid',
  ]
  expect(needed.filter((n) => !tested.has(n) || !rules.some((r) => r.alert === n))).toEqual([])
})

/** It takes most of a core for ten seconds, and waits for it on a busy machine. */
const PROMTOOL_WITHIN_MS = 300_000
const isPromtoolHere = spawnSync('promtool', ['--version']).status === 0

for (const [what, args] of [
  ['understands the rules', ['check', 'rules', RULES]],
  ['sees each rule fire on what it is for, and stay silent beside it', ['test', 'rules', TESTS]],
] as const)
  test(`promtool ${what}`, { timeout: PROMTOOL_WITHIN_MS }, (context) => {
    if (!isPromtoolHere) context.skip('promtool is not installed (Debian: prometheus)')
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' })
    expect(`${stdout}${stderr}`).toContain('SUCCESS')
    expect(status).toBe(0)
  })
