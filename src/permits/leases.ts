// For how long a permit lasts without a renewal. A crashed requester keeps its slots for so long, and a pause of a live one longer than this costs it the permit.

export const LEASES = {
  /** Requesters that reconcile while they work and renew after a third of it. */
  renewed: 120,
  /** A change of a control plane is one call that takes a snapshot and a restart; nothing renews meanwhile. */
  controlPlane: 600,
  /** Sync never renews: longer than one pass over a cluster takes. */
  massPrune: 600,
  /** A host is away for hours, and its slot must survive an update of the controllers. */
  maintenance: 900,
} as const
