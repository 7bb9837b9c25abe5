document.body.append("Sluice");
