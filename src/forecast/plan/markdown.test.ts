import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ClusterDifference } from '#sync/difference.ts'
import type { ClusterPrediction } from '../predict.ts'
import { LEAST_CHARS } from './least-chars.ts'
import { markdownOf, type PlanDocument } from './markdown.ts'
import { escaped } from './markdown-text.ts'
import { outlookOf } from './outlook.ts'

/** Anything a commit may contain: closing tags, fences, mentions, newlines, table bars. */
const nasty = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom(
    '</details>',
    '```',
    '@team',
    '|',
    '<!-- x',
    '\n# head',
    '`a`',
    '<script>',
    'https://x.y',
    '&lt;',
    '\u0000',
  ),
)

const ref = fc.record({
  group: fc.constant('kubenode.io'),
  kind: fc.constantFrom('Machine', 'MachineComponentSet', 'NodeRemedier', 'Cluster'),
  namespace: fc.constant(''),
  name: nasty,
})

const change = fc.record({
  change: fc.constantFrom('added' as const, 'changed' as const, 'removed' as const),
  ref,
  object: nasty,
  fields: fc.array(fc.record({ path: nasty, before: nasty, after: nasty }), { maxLength: 30 }),
  more: fc.nat(3),
})

const difference: fc.Arbitrary<ClusterDifference> = fc.record({
  cluster: nasty,
  added: fc.nat(9),
  changed: fc.nat(9),
  removed: fc.nat(9),
  unchanged: fc.nat(9),
  changes: fc.array(change, { maxLength: 30 }),
  problems: fc.array(nasty, { maxLength: 5 }),
  machines: fc.record({
    deleted: fc.nat(9),
    sets: fc.array(fc.record({ set: nasty, of: fc.nat(9), deleted: fc.nat(9), kept: fc.constant(0) }), {
      maxLength: 4,
    }),
    single: fc.array(nasty, { maxLength: 40 }),
  }),
}) as fc.Arbitrary<ClusterDifference>

const slice = fc.record({
  set: nasty,
  component: nasty,
  version: nasty,
  step: fc.nat(12),
  number: fc.nat(9),
  machines: fc.array(nasty, { minLength: 1, maxLength: 20 }),
  drains: fc.boolean(),
  reboots: fc.boolean(),
  asked: fc.nat(1_000_000),
  begun: fc.nat(1_000_000),
  done: fc.nat(1_000_000_000),
})

const prediction: fc.Arbitrary<ClusterPrediction> = fc.record({
  cluster: nasty,
  takenAt: fc.constant('2026-11-22T10:00:00Z'),
  of: fc.nat(400),
  machines: fc.array(nasty, { maxLength: 30 }),
  slices: fc.array(slice, { maxLength: 300 }),
  drains: fc.nat(9),
  reboots: fc.nat(9),
  p50: fc.nat(1_000_000_000),
  p90: fc.nat(1_000_000_000),
  mostUnavailable: fc.nat(9),
  brakes: fc.array(fc.record({ what: nasty, ms: fc.nat(1_000_000) }), { maxLength: 3 }),
  risk: fc.constantFrom('Low' as const, 'Medium' as const, 'High' as const, undefined),
  approvals: fc.array(
    fc.record({ asker: nasty, from: fc.array(nasty), count: fc.nat(5), batches: fc.nat(9), missing: fc.nat(50) }),
    { maxLength: 2 },
  ),
  fullBudgets: fc.array(fc.record({ namespace: nasty, name: nasty, nodes: fc.array(nasty) }), { maxLength: 2 }),
  classes: fc
    .array(nasty, { maxLength: 3 })
    .map((all) => new Map(all.map((c) => [c, { machine: 'm', count: 1, step: 0 }]))),
  skipped: fc.array(fc.record({ set: nasty, machine: nasty, reason: nasty }), { maxLength: 5 }),
  stuck: fc.array(
    fc.record({
      set: nasty,
      wait: fc.record({
        predicate: fc.constantFrom('NoMachines' as const, 'HoldPause' as const),
        seen: nasty,
        unblock: nasty,
      }),
    }),
    { maxLength: 2 },
  ),
  untimed: fc.array(nasty, { maxLength: 3 }),
  assumed: fc.array(nasty, { maxLength: 3 }),
  wayBack: fc.option(fc.nat(1_000_000), { nil: undefined }),
  booked: fc.array(
    fc.record({ machine: nasty, event: nasty, kind: nasty, source: nasty, by: nasty, from: nasty, until: nasty }),
    {
      maxLength: 5,
    },
  ),
  underWay: fc.array(nasty, { maxLength: 2 }),
})

const promised = fc.record({
  cluster: nasty,
  source: nasty,
  track: nasty,
  digest: fc.constant('d'.repeat(64)),
  count: fc.nat(9),
  first: nasty,
  takenAt: fc.constant('2026-11-22T10:00:00Z'),
  mayDiffer: nasty,
})
const prunes = fc.record({
  promised: fc.array(promised, { maxLength: 40 }),
  unknown: fc.array(fc.record({ cluster: nasty, why: nasty }), { maxLength: 5 }),
})

const document: fc.Arbitrary<PlanDocument> = fc
  .record({
    clusters: fc.array(difference, { maxLength: 40 }),
    problems: fc.array(nasty, { maxLength: 50 }),
    predictions: fc.option(fc.array(prediction, { maxLength: 4 }), { nil: undefined }),
    prunes,
    oneWay: fc.array(fc.record({ cluster: nasty, what: nasty }), { maxLength: 40 }),
    loosened: fc.array(
      fc.record({ cluster: nasty, object: nasty, what: fc.array(nasty, { minLength: 1, maxLength: 3 }) }),
      {
        maxLength: 40,
      },
    ),
  })
  .map(({ clusters, problems, predictions, prunes: held, loosened, oneWay }) => ({
    prunes: held,
    loosened,
    oneWay,
    commit: '3f2a91c0'.repeat(5),
    base: '8be1d070'.repeat(5),
    against: 'main',
    isDirty: false,
    clusters,
    problems,
    outlook:
      predictions &&
      outlookOf(
        predictions,
        { pipelines: [], clusters: [] },
        clusters.map((c) => c.cluster),
      ),
    digest: `sha256:${'a'.repeat(64)}`,
    version: '0.1.0',
  }))

const MARKER = 'kubenode-plan'

/** Outside of fences and code: there a tag is text. */
function tags(text: string, tag: string): number {
  const open = text.replaceAll(/^```[^]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '')
  return open.split(tag).length - 1
}

describe('a plan in Markdown', () => {
  test('always fits, is well formed, and never folds away what is red, whatever a commit holds', () => {
    fc.assert(
      fc.property(document, fc.integer({ min: LEAST_CHARS, max: 70_000 }), (plan, maxChars) => {
        const text = markdownOf(plan, { marker: MARKER, maxChars })
        expect(text.length).toBeLessThanOrEqual(maxChars)
        expect(text.startsWith(`<!-- ${MARKER} -->\n### kubenode plan`)).toBe(true)
        expect(tags(text, '<details>')).toBe(tags(text, '</details>'))
        expect((text.match(/^```/gm) ?? []).length % 2).toBe(0)
        expect(tags(text, '<script>')).toBe(0)
        const shown = text.replaceAll(/^```[^]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '')
        expect(shown).not.toMatch(/@[a-z]/)
        const isLossy = plan.clusters.some((d) => d.machines.deleted > 0)
        const isWrong = plan.problems.length > 0
        const red = text.indexOf('🔴 **This')
        const isHeld = plan.prunes !== undefined && plan.prunes.promised.length > 0
        if (isLossy || isWrong || isHeld) expect(red).toBeGreaterThan(0)
        const folded = text.indexOf('<details>')
        if (red > 0 && folded > 0) expect(red).toBeLessThan(folded)
        // The complete approve command is above the fold in every form.
        if (isHeld) expect(text.split('<details>')[0]).toContain(`\`kubenode approve sha256:${'d'.repeat(64)}\``)
        if ((plan.loosened ?? []).length > 0) {
          const warned = text.indexOf('🟠 **This loosens')
          expect(warned).toBeGreaterThan(0)
          if (folded > 0) expect(warned).toBeLessThan(folded)
          if (red > 0) expect(red).toBeLessThan(warned)
        }
        if ((plan.oneWay ?? []).length > 0) {
          const said = text.indexOf('🟠 **A revert does not take this back')
          expect(said).toBeGreaterThan(0)
          if (folded > 0) expect(said).toBeLessThan(folded)
        }
        expect(text).toContain(plan.digest)
      }),
      { numRuns: 40 },
    )
  })

  test('the base is named as the reviewer knows it, and a commit only once', () => {
    const [plan] = fc.sample(document, 1)
    if (plan?.base === undefined) return
    const headOf = (against: string) =>
      markdownOf({ ...plan, against }, { marker: MARKER, maxChars: 60_000 }).split('\n')[1]
    expect(headOf('main')).toBe(
      `### kubenode plan · \`${plan.commit.slice(0, 12)}\` against \`main\` \`${plan.base.slice(0, 12)}\``,
    )
    expect(headOf(plan.base)).toBe(
      `### kubenode plan · \`${plan.commit.slice(0, 12)}\` against \`${plan.base.slice(0, 12)}\``,
    )
  })

  test('the last line has the command of this very plan', () => {
    const [plan] = fc.sample(document, 1)
    if (plan === undefined) return
    const { against: _, ...ofParent } = plan
    const commandIn = (of: typeof ofParent) =>
      / · `(kubenode plan [^`]*)`<\/sub>$/m.exec(markdownOf(of, { marker: MARKER, maxChars: 60_000 }))?.[1]
    const [commit, base] = [plan.commit.slice(0, 12), plan.base?.slice(0, 12) ?? '']
    expect(commandIn(plan)).toBe(`kubenode plan ${base}..${commit}`)
    expect(commandIn(ofParent)).toBe(`kubenode plan --commit ${commit}`)
    expect(commandIn({ ...plan, only: 'prod' })).toBe(`kubenode plan ${base}..${commit} --cluster prod`)
    expect(commandIn({ ...plan, isDirty: true })).toBe('kubenode plan --dirty')
  })

  test('both commits have their titles, which are text of their authors', () => {
    const [plan] = fc.sample(document, 1)
    if (plan?.base === undefined) return
    const titles = {
      commit: { subject: '\u202e**@all** ![](https://x.y) `', author: 'Ada\u001b[2J' },
      base: { subject: 'beacon 1.1.0 '.repeat(20) },
    }
    const [, head = ''] = markdownOf({ ...plan, titles }, { marker: MARKER, maxChars: 60_000 }).split('\n')
    expect(head).toContain(
      `${plan.commit.slice(0, 12)}\` "\ufffd&#42;&#42;&#64;&#8203;all&#42;&#42; &#33;&#8203;&#91;&#93;&#40;https&#8203;://x.y&#41; &#96;" by Ada\ufffd&#91;2J against `,
    )
    expect(head).toMatch(/`8be1d0708be1` "beacon 1\.1\.0 beacon [^"]{1,60}…"/)
  })

  test('the same plan is the same text', () => {
    const [plan] = fc.sample(document, 1)
    if (plan === undefined) return
    const options = { marker: MARKER, maxChars: 60_000 }
    expect(markdownOf(plan, options)).toBe(markdownOf(plan, options))
  })

  test('names of people, tags and tables in what a commit holds are text', () => {
    expect(escaped('@ada <b>|x`')).toBe('&#64;&#8203;ada &#60;b&#62;&#124;x&#96;')
    expect(escaped('acme/fleet#12 !7')).toBe('acme/fleet&#35;&#8203;12 &#33;&#8203;7')
    expect(escaped('$`x`$ HTTPS://a.b ftp://c')).toBe('&#36;&#96;x&#96;&#36; HTTPS&#8203;://a.b ftp&#8203;://c')
  })

  test('without a change it says so in one sentence', () => {
    const plan: PlanDocument = {
      commit: 'a'.repeat(40),
      base: 'b'.repeat(40),
      isDirty: false,
      clusters: [],
      problems: [],
      outlook: undefined,
      digest: 'sha256:0',
      version: '0.1.0',
    }
    expect(markdownOf(plan, { marker: MARKER, maxChars: 60_000 })).toContain('**Nothing changes in any cluster.**')
  })
})
