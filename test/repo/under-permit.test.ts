// Nothing that disrupts can be reached without its permit: each such call lies in a function that takes a `Clearance`, and only `underPermit` gives one, after it
// read the permit from the server.
import { expect, test } from 'vitest'
import { EXEMPTIONS } from '#permits/under-permit.ts'
import { codeOf, isTest, sourceFiles } from './source-files.ts'

const DOOR = 'src/permits/under-permit.ts'

interface Disruption {
  readonly what: string
  readonly call: RegExp
  /** Where it may be called at all, besides ports, doubles and doors that carry it out. */
  readonly within: RegExp
}

const DISRUPTIONS: readonly Disruption[] = [
  { what: 'evicts pods', call: /\bclient\.evict\(/, within: /^src\/(nodes|controllers|sync|delivery)\// },
  { what: 'drains', call: /\bdrainPass\(/, within: /^src\// },
  { what: 'cordons for a drain', call: /\bcordon\(/, within: /^src\/(nodes|controllers)\// },
  { what: 'fences', call: /\bfence\(/, within: /^src\/(nodes|controllers)\// },
  { what: 'deletes pods that serve', call: /\bclient\.delete\(podType/, within: /^src\/controllers\/machine\// },
  { what: 'restarts a host', call: /\.reboot\(/, within: /^src\/controllers\// },
  { what: 'rescues a host', call: /\b(sessions|turn)\.run\(/, within: /^src\/controllers\/remedyjob\// },
  { what: 'switches a host off', call: /\.power\??\.?\([^)]*'Off'/, within: /^src\/controllers\// },
  { what: 'has a source begin its work', call: /\.respond\(/, within: /^src\/controllers\// },
  { what: 'ends a host', call: /\bprovider\.delete\(/, within: /^src\/controllers\// },
  {
    what: 'deletes a Machine',
    call: /\b(deleteExactly\(client, machineType|client\.delete\((machine|machineType),)/,
    within: /^src\/controllers\//,
  },
  { what: 'orders an agent to leave', call: /\bleaving: true\b/, within: /^src\/controllers\/machine\/act\.ts$/ },
  { what: 'removes all components', call: /\bcomponents: \[\]/, within: /^src\/controllers\/machine\/act\.ts$/ },
  {
    what: 'changes a control plane',
    call: /\bhost\.(put|stop|restore|defragment|replaceMember|delete)\??\.?\(/,
    within: /^src\/controllers\/cluster\//,
  },
]

/** Declarations of a file, each from its first line to the next one. */
function declarationsOf(code: string): readonly string[] {
  return code.split(/^(?=(?:export )?(?:async )?(?:function|const|class|interface|type) )/m)
}

/** Its own declaration is not a call. */
const isOwn = (declaration: string, call: RegExp): boolean =>
  new RegExp(String.raw`^(export )?(async )?function ${call.source.replace(/^\\b/, '')}`).test(declaration)

const product = sourceFiles('src').filter((f) => !isTest(f.path))

const reached = ({ call, within }: Disruption): readonly { readonly path: string; readonly declaration: string }[] =>
  product
    .filter((f) => within.test(f.path) && f.path !== DOOR)
    .flatMap((f) =>
      declarationsOf(codeOf(f))
        .filter((d) => call.test(d) && !isOwn(d, call))
        .map((declaration) => ({ path: f.path, declaration })),
    )

const isBare = (declaration: string): boolean => !/_?clearance: Clearance\b/.test(declaration)

test('a call in a function without a clearance is found', () => {
  const code =
    'const a = 1\n\nasync function reboot(tools: Tools) {\n  return tools.provider.reboot(id)\n}\n\nfunction b() {}\n'
  const calls = declarationsOf(code).filter((d) => /\.reboot\(/.test(d))
  expect(calls.map(isBare)).toEqual([true])
  expect(calls.map((d) => isBare(d.replace('tools: Tools', '_clearance: Clearance, tools: Tools')))).toEqual([false])
})

test.each(DISRUPTIONS)('what $what takes a clearance', (disruption) => {
  const calls = reached(disruption)
  expect(calls).not.toEqual([])
  const bare = calls.filter(({ declaration }) => isBare(declaration))
  expect(bare.map(({ path, declaration }) => `${path}: ${declaration.split('\n')[0]}`)).toEqual([])
})

test('an order to switch is given under each of its permits', () => {
  const orders = product
    .filter((f) => f.path === 'src/controllers/machine/act.ts')
    .flatMap((f) => declarationsOf(codeOf(f)))
    .filter((d) => d.startsWith('function writeComponents'))
  expect(orders).toHaveLength(1)
  expect(orders[0]).toMatch(/const \[first, \.\.\.others\] = given[\s\S]*return underPermit\([\s\S]*given: others/)
})

test('deletions of a prune are planned as permitted only with a clearance in the answer', () => {
  const deliver = product.find((f) => f.path === 'src/delivery/deliver.ts')?.text ?? ''
  expect(deliver).toMatch(/kind: 'Granted'; readonly permit: OperationPermit; readonly clearance: Clearance/)
  expect(deliver.match(/planWith\(new Set\(\[/g)).toHaveLength(1)
  expect(deliver).toMatch(/answer\?\.kind === 'Granted' \? planWith\(new Set\(\[/)
})

test('a clearance is made in one place alone', () => {
  const made = product.filter((f) => /\bas (unknown as )?Clearance\b/.test(codeOf(f)))
  expect(made.map((f) => f.path)).toEqual([DOOR])
})

/** A new exemption, or a new use of one, is a decision about safety. */
const EXEMPT: Readonly<Record<keyof typeof EXEMPTIONS, readonly string[]>> = {
  NeverServed: [
    'src/controllers/machine/removal/plan.ts',
    'src/controllers/machineset/act.ts',
    'src/controllers/machineset/removal/delete-permitted.ts',
  ],
  NotOpenYet: ['src/controllers/machine/workloads/plan.ts'],
  HostGone: ['src/controllers/machineset/act.ts'],
  HostKept: [
    'src/controllers/machine/orphans/watch.ts',
    'src/controllers/machine/plan.ts',
    'src/controllers/machine/removal/plan.ts',
  ],
  NoMachine: ['src/controllers/machine/orphans/watch.ts'],
  Postponed: ['src/controllers/hostdoctor/plan-answer.ts'],
  Rotates: ['src/controllers/cluster/plan.ts'],
  NoChange: [
    'src/controllers/cluster/plan-delete.ts',
    'src/controllers/cluster/plan-store.ts',
    'src/controllers/cluster/plan.ts',
  ],
}

test('what needs no permit is listed, with where', () => {
  const uses = Object.keys(EXEMPTIONS).map((why) => [
    why,
    product
      .filter((f) => new RegExp(String.raw`exempt(: |\()'${why}'`).test(codeOf(f)))
      .map((f) => f.path)
      .toSorted(),
  ])
  expect(Object.fromEntries(uses)).toEqual(EXEMPT)
})
