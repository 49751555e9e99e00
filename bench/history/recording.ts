// A recorder with its file in a temporary folder, and Nodes as kubelets write them.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '#api/schema/object.ts'
import { timestamp } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import { DEFAULT_BOUNDS } from '#history/record/bounds.ts'
import { type Held, heldOf } from '#history/record/held.ts'
import { createHistoryMetrics } from '#history/record/metrics.ts'
import { Recorder } from '#history/record/recorder.ts'
import { bytesOf } from '#history/store/drop-days.ts'
import { openForRecording } from '#history/store/file.ts'
import { HistoryWriter } from '#history/store/writer.ts'
import { createMetrics } from '#runtime/metrics.ts'

export const CLUSTER = 'bench'

export const CONDITIONS = [
  'Ready',
  'DiskSpaceLow',
  'MemoryPressure',
  'PIDPressure',
  'KubeletUnhealthy',
  'TasksHung',
  'ClockSkewed',
  'FilesystemReadOnly',
]

/** A Node as kubelets write it; condition `flipped` of it changed at this time. */
export function node(n: number, flipped: number, at: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `prod-1-worker-${n}`,
      uid: `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        'kubernetes.io/hostname': `prod-1-worker-${n}`,
        'topology.kubernetes.io/zone': `zone-${n % 3}`,
        'kubenode.io/pool': 'workers',
      },
    },
    spec: { taints: [] },
    status: {
      conditions: CONDITIONS.map((type, i) => ({
        type,
        status: (i === flipped % CONDITIONS.length) === (i === 0) ? 'False' : i === 0 ? 'True' : 'False',
        reason: i === flipped % CONDITIONS.length ? `Changed${flipped % 7}` : 'AsUsual',
        message: i === flipped % CONDITIONS.length ? `seen ${flipped} times in 5m` : 'all is as usual',
        lastTransitionTime: timestamp(i === flipped % CONDITIONS.length ? at : 1_767_225_600_000),
      })),
      nodeInfo: { kubeletVersion: 'v1.36.0', kernelVersion: '6.12.0', bootID: `boot-${n}`, architecture: 'amd64' },
    },
  }
}

interface Recording {
  readonly folder: string
  readonly writer: HistoryWriter
  readonly recorder: Recorder
  readonly hold: (object: KubeObject) => Held
  readonly bytes: () => number
}

export const nodes = () => {
  const shape = shapeOfKind('Node')
  if (shape === undefined) throw new Error('nodes are recorded')
  return shape
}

export function recording(): Recording {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bench-history-'))
  const { db } = openForRecording(folder, CLUSTER, systemClock.now())
  const writer = new HistoryWriter(db)
  const recorder = new Recorder({
    cluster: CLUSTER,
    writer,
    clock: systemClock,
    log: silentLogger,
    // The bench flips a node more often than any real one.
    bounds: { ...DEFAULT_BOUNDS, rowsPerHour: Number.MAX_SAFE_INTEGER },
    metrics: createHistoryMetrics(createMetrics()),
  })
  return { folder, writer, recorder, hold: heldOf(nodes(), writer.names), bytes: () => bytesOf(db) }
}
