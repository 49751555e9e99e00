// The parts that find problems of the node: the board of problems from logs and components, and the detectors that feed it.
import type { AllComponents } from '../components/all-components.ts'
import { problemOf, type ComponentProblem } from '../detect/component-problems.ts'
import { Detection } from '../detect/detection.ts'
import { ProblemBoard } from '../detect/problem-board.ts'
import { checkVariables } from '../node-variables.ts'
import type { NodeObject } from '../node/node-object.ts'
import type { Processes } from '../supervise/port.ts'
import type { PartsContext } from './context.ts'

export interface DetectionNeeds {
  readonly supervisor: Processes
  readonly components: AllComponents
  readonly nodeObject: NodeObject
  readonly onChange: () => void
}

export interface DetectionParts {
  readonly board: ProblemBoard
  readonly detection: Detection
}

export function buildDetection(context: PartsContext, needs: DetectionNeeds): DetectionParts {
  const { base, client, session, node, config, facts, eventsOf, target } = context
  const { supervisor, components, nodeObject, onChange } = needs
  const board: ProblemBoard = new ProblemBoard({
    ...base,
    bootId: facts.bootId,
    sources: config.logs,
    clearAfterMs: config.clearAfterMs,
    components: () => {
      const found = problemsOf(components, supervisor)
      detection.detectors.noteComponents(found)
      return found
    },
    onChange,
    onTurn: (problem, source) => detection.turned(problem, source),
  })
  const detection: Detection = new Detection({
    ...base,
    bootId: facts.bootId,
    environment: checkVariables(context.environment, context.binFolder),
    client,
    server: session.identity.server,
    agentEvents: eventsOf,
    node,
    nodeUid: () => nodeObject.knownUid,
    config: config.detect,
    board,
    components: () => problemsOf(components, supervisor),
    machineClass: () => target.machineClass,
  })
  return { board, detection }
}

export function problemsOf(
  components: Pick<AllComponents, 'workers'>,
  supervisor: Pick<Processes, 'reading' | 'describe'>,
): ReadonlyMap<string, ComponentProblem | undefined> {
  return new Map(
    components.workers.map(({ component, record, probes, startProblem }) => {
      const process = supervisor.reading(component)
      const why = supervisor.describe(component)
      return [component, problemOf({ record, process, why, probes, startProblem })]
    }),
  )
}
