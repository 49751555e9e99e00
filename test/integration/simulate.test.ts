// `kubenode simulate` on a fleet in git and a file of its cluster: scenarios run from the repository, and an expectation that does not hold fails the command.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  POOL,
  START,
  component,
  componentSet,
  condition,
  readyNode,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import { run } from '#cli/program.ts'
import { INVENTORY_FORM } from '#forecast/inventory.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-simulate-'))
  mkdirSync(join(folder, 'fleet/scenarios'), { recursive: true })
  const machines = Array.from({ length: 12 }, (_, n) => {
    const made = workingMachine(`m-${n}`, { versions: { beacon: '1.0.0' }, zone: `z${n % 3}` })
    return {
      ...made,
      status: { ...made.status, conditions: [...(made.status?.conditions ?? []), condition('Ready', 'True')] },
    }
  })
  const inventory = {
    form: INVENTORY_FORM,
    cluster: 'hub',
    takenAt: new Date(START).toISOString(),
    machines,
    nodes: machines.map((m) => readyNode(m.metadata.name ?? '')),
    machineSets: [],
    sets: [componentSet({ beacon: '1.0.0' })],
    components: [component('beacon', '1.0.0'), component('beacon', '1.1.0')],
    revisions: [],
    permits: [],
    holds: [],
    approvals: [],
    policies: [],
    fullBudgets: [],
  }
  writeFileSync(join(folder, 'hub.json'), JSON.stringify(inventory))
  git('init', '-q', '-b', 'main')
  declare('1.0.0')
  git('add', '-A')
  git('commit', '-qm', 'first')
  declare('1.1.0')
  scenario('bad', {
    description: 'beacon does not start',
    badVersions: [{ component: 'beacon' }],
    expect: ['failed.switches <= 1', 'blocked == 1'],
  })
  scenario('hopeful', {
    description: 'an hour is enough',
    outages: [{ at: '1m', pick: { zone: 'z1' }, for: '3h' }],
    expect: ['minutes <= 60'],
  })
  git('add', '-A')
  git('commit', '-qm', 'beacon 1.1.0')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const WORKERS = {
  replicas: 4,
  selector: { matchLabels: POOL },
  template: { metadata: { labels: POOL }, spec: { provider: { name: 'static' }, zone: 'z9' } },
}
const WHO = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
const git = (...args: readonly string[]) => execFileSync('git', [...WHO, ...args], { cwd: folder, encoding: 'utf8' })

function declare(version: string): void {
  const { spec } = componentSet({ beacon: version })
  writeFileSync(
    join(folder, 'fleet/main.ts'),
    `import { App } from 'cdk8s'
import { HubChart, MachineComponentSet, MachineSet } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
new MachineSet(hub, 'workers', { spec: ${JSON.stringify(WORKERS)} })
new MachineComponentSet(hub, 'base', { metadata: { name: 'base' }, spec: ${JSON.stringify(spec)} })
app.synth()
`,
  )
}

const scenario = (name: string, value: object) =>
  writeFileSync(
    join(folder, `fleet/scenarios/${name}.scenario.ts`),
    `import type { Scenario } from 'kubenode/scenario'\nexport const scenario: Scenario = ${JSON.stringify(value)}\n`,
  )

const simulate = (...args: readonly string[]) => simulateOn('--inventory', 'hub.json', ...args)

async function simulateOn(...args: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    env: process.env,
    isTerminal: false,
    cwd: folder,
  }
  const code = await run(['simulate', '--weak-cage', 'allow', '--seeds', '2', ...args], io)
  return { code, out, err }
}

test('a scenario whose expectations hold passes', async () => {
  const { code, out } = await simulate('bad')
  expect(out).toContain('bad: beacon does not start')
  expect(out).toContain('✔ 2 of 2 expectations hold')
  expect(code).toBe(0)
})

test('one that does not hold fails the command, and shows the smallest seed with its timeline', async () => {
  const { code, out, err } = await simulate()
  expect(out).toContain('✖ minutes <= 60')
  expect(out).toMatch(/not true for 2 seeds; with seed 0: minutes is \d+/)
  expect(out).toContain('1m  outage of zone z1: 4 machines stop')
  expect(err).toContain('not as expected: hopeful: minutes <= 60')
  expect(code).toBe(1)
  const report = await simulate('-o', 'junit')
  expect(report.out).toMatch(/<testsuite name="hopeful" tests="1" failures="1" skipped="0">/)
  expect(report.out).toMatch(/<testsuite name="bad" tests="2" failures="0" skipped="0">/)
  // A parser makes one line of an attribute, and keeps the lines of a text.
  expect(report.out).toMatch(
    /<failure message="not true for 2 seeds; [^"\n]*">\s+0s  set base [^<]*\n\s+1m  outage of zone z1/,
  )
})

describe('a scenario that breaks nothing', () => {
  test('fails if it names what is not there', async () => {
    scenario('typos', {
      description: 'names that nothing has',
      outages: [{ at: '1m', pick: { zone: 'zone-1' }, for: '3h' }],
      badVersions: [{ component: 'becon' }],
      expect: ['failed.switches == 0'],
    })
    const { code, out, err } = await simulate('typos')
    expect(out).toContain('✖ outages 0: picks no machine; there is no zone zone-1 (known: z0, z1, z2)')
    expect(out).toContain('✖ badVersions 0: the commit brings no becon (did you mean beacon?)')
    expect(out).toContain('✖ 1 of 1 expectations hold, which proves nothing')
    expect(err).toContain('not as expected: typos: outages 0: picks no machine')
    expect(code).toBe(1)
    const junit = await simulate('typos', '-o', 'junit')
    expect(junit.out).toContain('<testsuite name="typos" tests="3" failures="2" skipped="0">')
  })

  test('writes nothing that acts in a terminal or on a CI runner (S33)', async () => {
    scenario('hostile', {
      description: 'x',
      outages: [{ at: '1m', pick: { zone: '\u001b[2J\n::stop-commands::x\n##[x]' }, for: '3h' }],
      expect: ['failed.switches == 0'],
    })
    const { out, err } = await simulate('hostile')
    rmSync(join(folder, 'fleet/scenarios/hostile.scenario.ts'))
    expect(err).toContain('not as expected: hostile: outages 0: picks no machine')
    for (const text of [out, err]) {
      expect(text).not.toContain('\u001b')
      expect(text).not.toMatch(/^::|##\[/m)
    }
  })

  test('says so if nothing rolls out', async () => {
    const none = ['--commit', 'HEAD~1', '--base', 'HEAD~1'] as const
    const { code, out } = await simulate('bad', ...none)
    expect(out).toContain('12 machines, 2 seeds; nothing rolls out')
    expect(out).toContain('⚠ no machine switched to beacon, so its bad version was not tried')
    expect(out).not.toContain('A switch of')
    expect(code).toBe(1)
    expect((await simulate('--what-if', 'bad-rollout', ...none)).out).toContain(
      'bad-rollout: no version can fail, because nothing rolls out',
    )
  })

  test('is no passed test if it expects nothing', async () => {
    const { out } = await simulate('--what-if', 'undisturbed', '-o', 'junit')
    expect(out).toMatch(/<testsuite name="undisturbed" tests="1" failures="0" skipped="1">/)
  })

  test('is refused if it lasts no time', async () => {
    const { code, err } = await simulate('bad', '--for', '0s')
    expect(err).toContain('a duration longer than 0s')
    expect(code).toBe(2)
  })
})

test('the same question has the same answer, byte for byte', async () => {
  const [first, again] = [await simulate('bad', '-o', 'json'), await simulate('bad', '-o', 'json')]
  expect(again.out).toBe(first.out)
  expect(JSON.parse(first.out)).toMatchObject({ cluster: 'hub', results: [{ name: 'bad', unmet: [] }] })
})

// test/integration/init.test.ts rolls components out on assumed machines.
describe('without an inventory', () => {
  test('the declared machines are assumed, and the answer says so', async () => {
    const { code, out } = await simulateOn('--what-if', 'zone-loss', '--for', '2h')
    expect(out).toContain(
      'no cluster was read: 4 working machines of 1 declared MachineSet assumed, without any component yet',
    )
    expect(out).toContain('zone z9 stops for an hour')
    expect(code).toBe(0)
    const junit = await simulateOn('--what-if', 'undisturbed', '--for', '1h', '--machines', '7', '-o', 'junit')
    expect(junit.out).toContain('<property name="cluster" value="no cluster was read: 7 working machines')
  })

  test('with --base they run what that commit declares, so only a change rolls out', async () => {
    const complete = async (base: string) => {
      const { out } = await simulateOn('--what-if', 'undisturbed', '--for', '1h', '--base', base, '-o', 'json')
      const { assumed, results } = JSON.parse(out) as {
        readonly assumed: string
        readonly results: readonly { readonly complete: number }[]
      }
      expect(assumed).toMatch(/with the components of commit/)
      return results[0]?.complete
    }
    expect(await complete('HEAD')).toBe(2)
    // The fleet has no MachineComponent for what this one changes.
    expect(await complete('HEAD~1')).toBe(0)
  })

  test('what cannot be assumed is refused', async () => {
    expect((await simulateOn('bad', '--fleet-cluster', 'nope')).err).toMatch(
      /KN1347: cannot tell which cluster to simulate: the fleet declares MachineSets for hub/,
    )
    expect((await simulate('bad', '--fleet-cluster', 'nope')).err).toMatch(
      /KN1347: cannot tell which cluster of the fleet the inventory of hub belongs to: the fleet declares hub/,
    )
    expect((await simulate('bad', '--machines', '3')).err).toMatch(/'--machines <number>' cannot be used with option/)
  })
})

test('built-in questions need no scenario', async () => {
  const { code, out } = await simulate('--what-if', 'zone-loss', '--what-if', 'bad-rollout')
  expect(out).toContain('zone-loss: zone z0 stops for an hour')
  expect(out).toContain('bad-rollout: every new version')
  expect(code).toBe(0)
})

test('a mistake in a scenario is named with its file', async () => {
  writeFileSync(
    join(folder, 'fleet/scenarios/odd.scenario.ts'),
    `export const scenario = { description: 'odd', outage: [] }`,
  )
  const { code, err } = await simulate('odd')
  expect(err).toMatch(
    /KN1347: cannot load the scenario fleet\/scenarios\/odd.scenario.ts: scenario has an unknown field outage \(did you mean outages\?\)/,
  )
  expect(code).toBe(2)
  writeFileSync(
    join(folder, 'fleet/scenarios/odd.scenario.ts'),
    `export const scenario = { description: 'odd', expect: ['minuets < 3'] }`,
  )
  expect((await simulate('odd')).err).toMatch(
    /^KN1347: cannot load the scenario fleet\/scenarios\/odd.scenario.ts: scenario expect 0: there is no figure minuets \(did you mean minutes\?\); docs/,
  )
  scenario('odd', { description: 'odd', expect: ['complete == 1', 'minutes'] })
  const { err: unread } = await simulate('odd')
  expect(unread).toMatch(/odd.scenario.ts: scenario expect 1: cannot read the condition "minutes": a comparison/)
  expect(unread).not.toContain('--fail-on')
})

test('a scenario that does not exist is named with the one that was meant', async () => {
  for (const name of ['bda', 'fleet/bda.scenario.ts']) {
    const { code, err } = await simulate(name)
    expect(err).toContain(`KN1347: there is no scenario ${name} in ${join(folder, 'fleet')} (did you mean bad?)`)
    expect(code).toBe(2)
  }
})
