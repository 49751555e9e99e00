// Pictures of the page of concepts, drawn from data: what follows what, and where. Light and dark by the reader's own setting.
import { GATES } from '#defender/gate.ts'
import { PICTURES } from './site.ts'
import { escaped } from './render.ts'

interface Step {
  /** Index of the lane that it happens in. */
  readonly lane: number
  readonly title: string
  readonly lines: readonly string[]
}

interface Way {
  readonly name: string
  readonly lanes: readonly string[]
  readonly steps: readonly Step[]
  /** What happens when the last step fails: to which step it leads. */
  readonly failed: { readonly to: number; readonly text: string }
}

const WAYS: readonly Way[] = [
  {
    name: 'change',
    lanes: ['git', 'hub', 'cluster', 'machine'],
    steps: [
      { lane: 0, title: 'commit', lines: ['what the fleet', 'should be'] },
      { lane: 1, title: 'Release', lines: ['rendered, checked,', 'one stage after another'] },
      { lane: 2, title: 'slice', lines: ['up to 100 machines', 'of one step'] },
      { lane: 2, title: 'permit', lines: ['the Defender grants it', 'or names the gate'] },
      { lane: 3, title: 'switch', lines: ['install, probe,', 'keep or roll back'] },
    ],
    failed: { to: 2, text: 'failed: rolled back on the machine, no further slice' },
  },
  {
    name: 'repair',
    lanes: ['machine', 'cluster'],
    steps: [
      { lane: 0, title: 'fault', lines: ['a monitor reports', 'a condition'] },
      { lane: 1, title: 'rule', lines: ['NodeRemedier: when,', 'for how long, what to do'] },
      { lane: 1, title: 'permit', lines: ['the same limits', 'as for changes'] },
      { lane: 1, title: 'job', lines: ['steps with deadlines,', 'one rung of a ladder'] },
      { lane: 0, title: 'verified', lines: ['the condition cleared', 'and stays clear'] },
    ],
    failed: { to: 1, text: 'still there: the next rung of the ladder' },
  },
]

/** What each gate asks, in the order in which the Defender asks it. */
const ASKED: Readonly<Record<(typeof GATES)[number], string>> = {
  Target: 'does it exist?',
  Hold: 'is it frozen?',
  Protect: 'is it protected?',
  FleetStop: 'did it fail elsewhere?',
  OwnPods: 'do our own pods survive?',
  Window: 'is this the time?',
  HealthFloor: 'are enough healthy?',
  Blame: 'does a version break nodes?',
  Budget: 'are too many down?',
  Rate: 'too many lately?',
  Breaker: 'did too many fail?',
  Approval: 'did a person agree?',
  Rule: 'any rule of yours?',
  FleetTurn: 'may this cluster change?',
}

const BOX = { width: 168, height: 76, gap: 28 } as const
const LANE = { height: 104, label: 88 } as const
const MARGIN = 12
const FOOT = 40

const STYLE = `<style>
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #3d4552 }
.title { font-size: 15px; font-weight: 700; fill: #1d2129 }
.lane { fill: #f4f6f8 } .box { fill: #ffffff; stroke: #0b5cad; stroke-width: 1.5 }
.way { fill: none; stroke: #0b5cad; stroke-width: 1.5 } .back { stroke: #b3401f; stroke-dasharray: 5 4 } .failed { fill: #b3401f }
.head { fill: #0b5cad } .backhead { fill: #b3401f } .name { font-weight: 700; fill: #5b6472 }
@media (prefers-color-scheme: dark) {
text { fill: #c4cad3 } .title { fill: #f0f2f5 } .lane { fill: #1e232b } .box { fill: #14171c; stroke: #7db7f5 }
.way { stroke: #7db7f5 } .back { stroke: #f0906f } .failed { fill: #f0906f } .head { fill: #7db7f5 } .backhead { fill: #f0906f } .name { fill: #9aa3b0 }
}
</style>`

const HEADS = `<defs>
<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker>
<marker id="backhead" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="backhead" d="M0 0 8 4 0 8z"/></marker>
</defs>`

function svg(title: string, width: number, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
${[STYLE, HEADS, ...parts].join('\n')}
</svg>
`
}

const text = (x: number, y: number, words: string, kind = ''): string =>
  `<text x="${x}" y="${y}" text-anchor="middle"${kind === '' ? '' : ` class="${kind}"`}>${escaped(words)}</text>`

const box = (x: number, y: number, title: string, lines: readonly string[]): string =>
  [
    `<rect class="box" x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="8"/>`,
    text(x + BOX.width / 2, y + 24, title, 'title'),
    ...lines.map((line, i) => text(x + BOX.width / 2, y + 44 + i * 17, line)),
  ].join('\n')

function drawnWay({ lanes, steps, failed }: Way): string {
  const width = LANE.label + steps.length * (BOX.width + BOX.gap) + MARGIN
  const foot = MARGIN + lanes.length * LANE.height
  const left = (i: number): number => LANE.label + i * (BOX.width + BOX.gap)
  const top = (step: Step): number => MARGIN + step.lane * LANE.height + (LANE.height - BOX.height) / 2
  const arrows = steps.slice(1).map((step, i) => {
    const from = steps[i] ?? step
    const [x, y] = [left(i) + BOX.width, top(from) + BOX.height / 2]
    const [toX, toY] = [left(i + 1), top(step) + BOX.height / 2]
    const middle = (x + toX) / 2
    return `<path class="way" d="M${x} ${y}H${middle}V${toY}H${toX}" marker-end="url(#head)"/>`
  })
  const last = steps.at(-1)
  const to = steps[failed.to]
  if (last === undefined || to === undefined) throw new Error('a way back begins and ends at a step')
  const [fromX, toX] = [left(steps.length - 1) + BOX.width / 2, left(failed.to) + BOX.width / 2]
  const back = [
    `<path class="way back" d="M${fromX} ${top(last) + BOX.height}V${foot + 14}H${toX}V${top(to) + BOX.height}" marker-end="url(#backhead)"/>`,
    text((fromX + toX) / 2, foot + 32, failed.text, 'failed'),
  ]
  return svg(steps.map((s) => s.title).join(', then '), width, foot + FOOT, [
    ...lanes.flatMap((lane, i) => [
      `<rect class="lane" x="0" y="${MARGIN + i * LANE.height + 2}" width="${width}" height="${LANE.height - 4}" rx="8"/>`,
      text(LANE.label / 2 - 4, MARGIN + i * LANE.height + LANE.height / 2 + 5, lane, 'name'),
    ]),
    ...arrows,
    ...back,
    ...steps.map((step, i) => box(left(i), top(step), step.title, step.lines)),
  ])
}

const GATE = { width: 214, height: 56, gap: 16, columns: 4 } as const

function drawnGates(): string {
  const at = (i: number) => {
    const [column, row] = [i % GATE.columns, Math.floor(i / GATE.columns)]
    return { x: MARGIN + column * (GATE.width + GATE.gap), y: MARGIN + row * (GATE.height + GATE.gap) }
  }
  const rows = Math.ceil(GATES.length / GATE.columns)
  const parts = GATES.map((gate, i) => {
    const { x, y } = at(i)
    return [
      `<rect class="box" x="${x}" y="${y}" width="${GATE.width}" height="${GATE.height}" rx="8"/>`,
      text(x + GATE.width / 2, y + 23, `${i + 1}. ${gate}`, 'title'),
      text(x + GATE.width / 2, y + 43, ASKED[gate]),
    ].join('\n')
  })
  const width = 2 * MARGIN + GATE.columns * GATE.width + (GATE.columns - 1) * GATE.gap
  return svg(
    'The gates of the Defender, in their order',
    width,
    2 * MARGIN + rows * GATE.height + (rows - 1) * GATE.gap,
    parts,
  )
}

export const conceptPictures = (): ReadonlyMap<string, string> =>
  new Map([
    ...WAYS.map((way) => [`${PICTURES}/${way.name}.svg`, drawnWay(way)] as const),
    [`${PICTURES}/gates.svg`, drawnGates()],
  ])
