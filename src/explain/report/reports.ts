// Which report is asked for, and what it shows. `fleet` is one page that a manager reads: each subject in a few lines. Pure.
import { assertNever } from '#lib/errors.ts'
import { nodeState } from '#measure/node-state.ts'
import { componentHeadline, componentSections, outsideSets, unmanaged } from './component-report.ts'
import { faultSections } from './fault-sections.ts'
import type { ReportFacts } from './facts.ts'
import {
  daysChart,
  LEVEL_DIGITS,
  levelHeadline,
  levelOf,
  poolSections,
  secondsOf,
  utilizationSection,
} from './pool-report.ts'
import { deliverySection, releaseHeadline, releaseSections } from './release-report.ts'
import { jobsOf, repairsHeadline, repairsSections, repairSums, successCell, timesSection } from './repairs-report.ts'
import { type Cell, count, duration, percent, type Report, type Section, word } from './report.ts'

export const REPORTS = ['fleet', 'pool', 'component', 'repairs', 'release'] as const
export type ReportKind = (typeof REPORTS)[number]

const TITLES: Readonly<Record<ReportKind, string>> = {
  fleet: 'Fleet report',
  pool: 'Pool report',
  component: 'Component report',
  repairs: 'Repair report',
  release: 'Release report',
}

export function goodSection(facts: ReportFacts): Section {
  const seconds = secondsOf(facts)
  const nodes = new Map(facts.nodes.map((n) => [n.metadata.name ?? '', n]))
  // Plans are not asked: what is planned now is not good now either.
  const states = facts.machines.map((machine) =>
    nodeState({ machine, node: nodes.get(machine.status?.nodeRef?.name ?? ''), isPlanned: false }),
  )
  const now = (state: string): number => states.filter((s) => s === state).length
  const rows: readonly (readonly Cell[])[] = [
    [word('good node time'), percent(levelOf(facts), LEVEL_DIGITS), word('99.9 % is promised')],
    [word('lost to faults'), duration(seconds?.fault), word('node time')],
    [word('lost to silence'), duration(seconds?.silent), word('no heartbeat from the agent')],
    [word('planned work'), duration(seconds?.planned), word('rollouts and announced work on hosts; counted apart')],
    [word('machines good now'), count(now('good')), word(`of ${facts.machines.length}`)],
    [word('machines with a fault now'), count(now('fault')), word('or in planned work')],
    [word('silent machines now'), count(now('silent')), word('')],
    [
      word('machines that no set selects'),
      count(outsideSets(facts).length),
      word('kubenode report component names them'),
    ],
    [word('nodes without a Machine'), count(unmanaged(facts).length), word('kubenode report component names them')],
  ]
  return {
    title: 'Is the fleet good?',
    kind: 'Machine',
    about: 'A second of a node is good while it is Ready, its components are healthy and no fault condition is true.',
    columns: ['figure', 'value', 'what it is'],
    rows,
    chart: daysChart(facts),
  }
}

function repairsInShort(facts: ReportFacts): Section {
  const sums = repairSums(jobsOf(facts), facts.jobs)
  return {
    title: 'Repairs',
    kind: 'RemedyOperationJob',
    about: 'What rules did in this time; kubenode report repairs has them by rule.',
    columns: ['figure', 'value', 'what it is'],
    rows: [
      [word('requested'), count(sums.all), word('')],
      [word('success'), successCell(sums, 'none ended'), word('of those that ended and had something to repair')],
      [word('needless'), count(sums.needless), word('the fault ended by itself')],
      [word('came back'), count(sums.relapsed), word('within a day')],
    ],
  }
}

function fleetSections(facts: ReportFacts): readonly Section[] {
  const [kinds] = faultSections(facts)
  return [
    goodSection(facts),
    utilizationSection(facts, undefined, true),
    ...(kinds === undefined ? [] : [{ ...kinds, rows: kinds.rows.slice(0, 10) }]),
    repairsInShort(facts),
    timesSection(facts),
    deliverySection(facts),
  ]
}

/** `only`: the pool or component that was named. */
export function reportOf(kind: ReportKind, facts: ReportFacts, only?: string): Report {
  const { cluster, from, to, unknown } = facts
  const base = { title: only === undefined ? TITLES[kind] : `${TITLES[kind]}: ${only}`, cluster, from, to, unknown }
  switch (kind) {
    case 'fleet':
      return { ...base, headline: levelHeadline(facts), sections: fleetSections(facts) }
    case 'pool':
      return { ...base, headline: levelHeadline(facts), sections: poolSections(facts, only) }
    case 'component':
      return { ...base, headline: componentHeadline(facts), sections: componentSections(facts, only) }
    case 'repairs':
      return { ...base, headline: repairsHeadline(facts), sections: repairsSections(facts) }
    case 'release':
      return { ...base, headline: releaseHeadline(facts), sections: releaseSections(facts) }
    default:
      return assertNever(kind)
  }
}
