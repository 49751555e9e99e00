// Collects the objects of a fleet's App by target, instead of writing files. For programs that render a fleet in-process.
import { ApiObject, App, Chart } from 'cdk8s'
import { type IConstruct, Node } from 'constructs'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { CLUSTER_LABEL, HubChart } from './charts.ts'
import { apiErrors } from '../api-errors.ts'
import { isWrittenByCdk8s, plainJsonOf } from './plain-json.ts'
import { HUB_TARGET } from '../names.ts'

/** The line of the fleet that is running, such as `fleet/machines/workers.ts:14`. */
export type PlaceHere = () => string | undefined

export interface Synthesis {
  readonly apps: readonly App[]
  /** Of a construct: the line that made it. */
  readonly placeOf: (construct: IConstruct) => string | undefined
}

export interface MadeObject {
  readonly object: unknown
  readonly at?: string | undefined
}

/** From now on `app.synth()` remembers the App, and every construct the line that made it. Call it once, in a process of its own. */
export function catchSynth(placeHere: PlaceHere = () => undefined): Synthesis {
  const apps: App[] = []
  App.prototype.synth = function (this: App): void {
    if (!apps.includes(this)) apps.push(this)
  }
  return { apps, placeOf: rememberPlaces(placeHere) }
}

/** Every construct joins the tree of its scope in its constructor, so the stack there holds the line with the `new`. */
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

/** A construct that fails only when its object is written, long after the line that made it. */
export class ConstructFailed extends Error {
  override readonly name = 'ConstructFailed'
  readonly at: string | undefined

  constructor(path: string, at: string | undefined, cause: unknown) {
    super(`${path}: ${messageOf(cause)}`, { cause })
    this.at = at
  }
}

/** By the name of the cluster; objects in the order in which they were declared. */
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
      // Not `chart.toJson()`, which goes through the whole App again for each chart.
      objects.push({ object: written(object, at), at })
    }
    // A target whose last object was removed is still a target, with nothing in it.
    for (const chart of chartsOf(app, all)) if (!targets.has(targetOf(chart))) targets.set(targetOf(chart), [])
  }
  return targets
}

/** cdk8s sorts them by their dependencies, which takes long and matters only where there are some: a circle of them is refused. */
const chartsOf = (app: App, all: readonly IConstruct[]): readonly Chart[] =>
  all.some(({ node }) => node.dependencies.length > 0) ? app.charts : all.filter((c) => c instanceof Chart)

function written(object: ApiObject, at: string | undefined): unknown {
  try {
    return (isWrittenByCdk8s(object) ? plainJsonOf(object) : undefined) ?? object.toJson()
  } catch (cause) {
    throw new ConstructFailed(object.node.path, at, cause)
  }
}

/** Problems of constructs that are named; the rest shows when these are mended. */
const MAX_SHOWN = 10

function refuseInvalid(all: readonly IConstruct[], placeOf: Synthesis['placeOf']): void {
  const wrong = all.flatMap((construct) => {
    const at = placeOf(construct)
    const place = at === undefined ? '' : ` (${at})`
    return construct.node.validate().map((problem) => `${construct.node.path}${place}: ${problem}`)
  })
  if (wrong.length > 0) throw new KubeNodeError(apiErrors.KN5011({ wrong: wrong.slice(0, MAX_SHOWN).join('; ') }))
}

/** Charts may be nested: a chart inside that of a cluster belongs to the cluster. A plain chart is named like its target. */
function targetOf(chart: Chart): string {
  const scopes = chart.node.scopes.slice(1)
  for (const scope of scopes) {
    if (isHubChart(scope)) return HUB_TARGET
    const cluster = (scope as Partial<Chart>).labels?.[CLUSTER_LABEL]
    if (cluster !== undefined) return cluster
  }
  return (scopes[0] ?? chart).node.id
}

/** Not `instanceof`: cdk8s answers it with yes for every chart, whatever its class. */
const isHubChart = (scope: object): boolean => Object.prototype.isPrototypeOf.call(HubChart.prototype, scope)
