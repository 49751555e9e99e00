// The clusters of the fleet and their differences.
import size from './size.json' with { type: 'json' }

export interface FleetCluster {
  readonly name: string
  readonly stage: 'test' | 'prod'
  readonly workers: number
}

export const test: FleetCluster = { name: 'test', stage: 'test', workers: size.test }
export const prod: FleetCluster = { name: 'prod', stage: 'prod', workers: size.prod }
