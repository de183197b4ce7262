// Firn
