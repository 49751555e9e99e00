// How long a permit lasts without a renewal. A crashed requester keeps its slots this long, and a live one that pauses longer loses the permit.

export const LEASES = {
  /** For requesters that reconcile while they work and renew after a third of it. */
  renewed: 120,
  /** A change of a control plane is one call with a snapshot and a restart. Nothing renews in the meantime. */
  controlPlane: 600,
  /** Sync never renews, so this is longer than one pass over a cluster. */
  massPrune: 600,
  /** A host may be unavailable for hours, and its slot must survive an update of the controllers. */
  maintenance: 900,
} as const
