// Collects a fleet App's objects by target instead of writing files. For programs that render a fleet in-process.
import { ApiObject, App, Chart } from 'cdk8s'
import { type IConstruct, Node } from 'constructs'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { CLUSTER_LABEL, HubChart } from './charts.ts'
import { apiErrors } from '../api-errors.ts'
import { isWrittenByCdk8s, plainJsonOf } from './plain-json.ts'
import { HUB_TARGET } from '../names.ts'

/** The running line of the fleet, such as `fleet/machines/workers.ts:14`. */
export type PlaceHere = () => string | undefined

export interface Synthesis {
  readonly apps: readonly App[]
  /** The line that created a construct. */
  readonly placeOf: (construct: IConstruct) => string | undefined
}

export interface MadeObject {
  readonly object: unknown
  readonly at?: string | undefined
}

/** From now on `app.synth()` records the App, and every construct the line that created it. Call it once, in its own process. */
export function catchSynth(placeHere: PlaceHere = () => undefined): Synthesis {
  const apps: App[] = []
  App.prototype.synth = function (this: App): void {
    if (!apps.includes(this)) apps.push(this)
  }
  return { apps, placeOf: rememberPlaces(placeHere) }
}

/** Every construct joins its scope's tree in its constructor, so the stack there contains the line with the `new`. */
function rememberPlaces(placeHere: PlaceHere): Synthesis['placeOf'] {
  const places = new WeakMap<object, string>()
  const addChild = Reflect.get(Node.prototype, 'addChild') as AddChild
  const remembering: AddChild = function (child, name) {
    const place = placeHere()
    if (place !== undefined) places.set(child, place)
    try {
      addChild.call(this, child, name)
    } catch (cause) {
      const first = this.tryFindChild(name)
      const at = first === undefined ? undefined : places.get(first)
      throw at === undefined ? cause : new Error(`${messageOf(cause)}; the first is at ${at}`, { cause })
    }
  }
  Reflect.set(Node.prototype, 'addChild', remembering)
  return (construct) => places.get(construct)
}

type AddChild = (this: Node, child: IConstruct, name: string) => void

/** A construct that fails only when its object is written, long after the line that created it. */
export class ConstructFailed extends Error {
  override readonly name = 'ConstructFailed'
  readonly at: string | undefined

  constructor(path: string, at: string | undefined, cause: unknown) {
    super(`${path}: ${messageOf(cause)}`, { cause })
    this.at = at
  }
}

/** By cluster name; objects in declaration order. */
export function objectsByTarget({ apps, placeOf }: Synthesis): ReadonlyMap<string, readonly MadeObject[]> {
  const targets = new Map<string, MadeObject[]>()
  for (const app of apps) {
    const all = app.node.findAll()
    refuseInvalid(all, placeOf)
    for (const object of all) {
      if (!ApiObject.isApiObject(object)) continue
      const target = targetOf(object.chart)
      const objects = targets.get(target) ?? []
      targets.set(target, objects)
      const at = placeOf(object)
      // Not `chart.toJson()`, which walks the whole App again for each chart.
      objects.push({ object: written(object, at), at })
    }
    // A target without objects is still a target.
    for (const chart of chartsOf(app, all)) if (!targets.has(targetOf(chart))) targets.set(targetOf(chart), [])
  }
  return targets
}

/** cdk8s sorts them by dependency, which is slow and only matters if there are dependencies: cycles are refused. */
const chartsOf = (app: App, all: readonly IConstruct[]): readonly Chart[] =>
  all.some(({ node }) => node.dependencies.length > 0) ? app.charts : all.filter((c) => c instanceof Chart)

function written(object: ApiObject, at: string | undefined): unknown {
  try {
    return (isWrittenByCdk8s(object) ? plainJsonOf(object) : undefined) ?? object.toJson()
  } catch (cause) {
    throw new ConstructFailed(object.node.path, at, cause)
  }
}

/** Constructs listed with problems; fixing these shows the rest. */
const MAX_SHOWN = 10

function refuseInvalid(all: readonly IConstruct[], placeOf: Synthesis['placeOf']): void {
  const wrong = all.flatMap((construct) => {
    const at = placeOf(construct)
    const place = at === undefined ? '' : ` (${at})`
    return construct.node.validate().map((problem) => `${construct.node.path}${place}: ${problem}`)
  })
  if (wrong.length > 0) throw new KubeNodeError(apiErrors.KN5011({ wrong: wrong.slice(0, MAX_SHOWN).join('; ') }))
}

/** Charts may be nested: a chart inside a cluster's chart belongs to that cluster. A plain chart's name is its target. */
function targetOf(chart: Chart): string {
  const scopes = chart.node.scopes.slice(1)
  for (const scope of scopes) {
    if (isHubChart(scope)) return HUB_TARGET
    const cluster = (scope as Partial<Chart>).labels?.[CLUSTER_LABEL]
    if (cluster !== undefined) return cluster
  }
  return (scopes[0] ?? chart).node.id
}

/** Not `instanceof`, which cdk8s makes true for every chart of any class. */
const isHubChart = (scope: object): boolean => Object.prototype.isPrototypeOf.call(HubChart.prototype, scope)
