"""What passes between the processes: topic names, quality of service, and message conversions."""
