// The clusters of the fleet and in what they differ.
export interface FleetCluster {
  readonly name: string
  readonly stage: 'test' | 'prod'
  readonly workers: number
}

export const test: FleetCluster = { name: 'test-1', stage: 'test', workers: 1 }
export const prod: FleetCluster = { name: 'prod-1', stage: 'prod', workers: 3 }
